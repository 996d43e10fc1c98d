#include "runtime/model/demand_loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "terms/runtime_code.h"

namespace sluice::runtime {
namespace {

/// Three models fit at once.
class DemandLoaderTest : public ::testing::Test {
 protected:
  DemandLoaderTest()
      : loader_(30, {[](const std::string&) { return Result<std::int64_t>(10); },
                     [this](const std::string& name) { return load(name); },
                     [this](std::uint64_t, std::int64_t) { ++num_unloads_; },
                     [this](std::uint64_t handle) { return handle != broken_; }}) {
    for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(loader_.add(name, false).is_ok());
  }

  Result<DemandLoader::Loaded> load(const std::string& name) {
    if (during_load_) during_load_(name);
    const int num_loaded = num_loads_ - num_unloads_;
    if (num_loaded >= num_places_) {
      return terms::runtime_error(RuntimeCode::kNotEnoughCores, "all {} places are taken",
                                  num_loaded);
    }
    ++num_loads_;
    return DemandLoader::Loaded{++next_, 10};
  }
  void touch(const std::string& name) { EXPECT_TRUE(loader_.use(name).is_ok()) << name; }

  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<int> num_loads_ = 0;
  std::atomic<int> num_unloads_ = 0;
  std::atomic<std::uint64_t> broken_ = 0;
  std::atomic<int> num_places_ = 100;  ///< such as cores
  std::function<void(const std::string&)> during_load_;
  DemandLoader loader_;
};

TEST_F(DemandLoaderTest, LoadsAtTheFirstUseOnly) {
  EXPECT_FALSE(loader_.is_loaded("a"));
  touch("a");
  touch("a");
  EXPECT_EQ(num_loads_, 1);
  EXPECT_EQ(loader_.loaded_bytes(), 10);
}

TEST_F(DemandLoaderTest, LeastRecentlyUsedModelIsUnloadedFirst) {
  for (const char* name : {"a", "b", "c", "a", "d"}) touch(name);
  EXPECT_TRUE(loader_.is_loaded("a"));
  EXPECT_FALSE(loader_.is_loaded("b"));
  EXPECT_TRUE(loader_.is_loaded("d"));
  EXPECT_EQ(loader_.loaded_bytes(), 30);
}

TEST_F(DemandLoaderTest, PinnedAndUsedModelsStay) {
  ASSERT_TRUE(loader_.pin("a", true).is_ok());
  touch("a");
  const auto used = loader_.use("b");
  ASSERT_TRUE(used.is_ok());
  for (const char* name : {"c", "d", "c", "d"}) touch(name);
  EXPECT_TRUE(loader_.is_loaded("a"));
  EXPECT_TRUE(loader_.is_loaded("b"));
}

TEST_F(DemandLoaderTest, ErrorSaysWhenNothingCanBeUnloaded) {
  std::vector<DemandLoader::Use> uses;
  for (const char* name : {"a", "b", "c"}) uses.push_back(loader_.use(name).value());
  EXPECT_EQ(terms::runtime_code_of(loader_.use("d").status()), RuntimeCode::kOutOfResources);
  uses.clear();
  touch("d");
}

TEST_F(DemandLoaderTest, UnloadsAnotherModelToFreeCores) {
  num_places_ = 2;
  for (const char* name : {"a", "b", "c"}) touch(name);
  EXPECT_FALSE(loader_.is_loaded("a")) << "it was used least recently";
  EXPECT_TRUE(loader_.is_loaded("b"));
  EXPECT_EQ(loader_.loaded_bytes(), 20);
  const auto first = loader_.use("b");
  const auto second = loader_.use("c");
  EXPECT_EQ(terms::runtime_code_of(loader_.use("d").status()), RuntimeCode::kNotEnoughCores)
      << "nothing may go";
}

TEST_F(DemandLoaderTest, FailedModelIsReloaded) {
  const std::uint64_t handle = loader_.use("a")->handle();
  EXPECT_EQ(loader_.use("a")->handle(), handle);
  broken_ = handle;
  EXPECT_NE(loader_.use("a")->handle(), handle);
  EXPECT_EQ(num_loads_, 2);
  EXPECT_EQ(loader_.loaded_bytes(), 10);
}

TEST_F(DemandLoaderTest, UnknownNamesAreRefused) {
  EXPECT_EQ(terms::runtime_code_of(loader_.use("x").status()), RuntimeCode::kInvalid);
  EXPECT_FALSE(loader_.pin("x", true).is_ok());
  EXPECT_FALSE(loader_.add("a", false).is_ok());
}

TEST_F(DemandLoaderTest, RemovedModelIsUnloadedThoughPinnedAndItsNameIsFree) {
  ASSERT_TRUE(loader_.pin("a", true).is_ok());
  touch("a");
  loader_.unload_removed(*loader_.remove("a").value(), 0);
  EXPECT_EQ(num_unloads_, 1);
  EXPECT_EQ(loader_.loaded_bytes(), 0);
  EXPECT_EQ(terms::runtime_code_of(loader_.use("a").status()), RuntimeCode::kInvalid);
  EXPECT_FALSE(loader_.remove("a").is_ok());
  EXPECT_TRUE(loader_.add("a", false).is_ok());
  touch("a");
}

TEST_F(DemandLoaderTest, ModelRemovedDuringItsLoadIsUnloaded) {
  std::shared_ptr<DemandLoader::Entry> removed;
  during_load_ = [&](const std::string& name) { removed = loader_.remove(name).value(); };
  {
    const auto use = loader_.use("a");
    ASSERT_TRUE(use.is_ok());
    loader_.unload_removed(*removed, 0);
  }
  EXPECT_EQ(num_unloads_, 1);
  EXPECT_EQ(loader_.loaded_bytes(), 0);
}

TEST_F(DemandLoaderTest, ManyThreadsStayWithinTheBudget) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const std::string name(1, static_cast<char>('a' + (t + i * 7) % 4));
        const auto use = loader_.use(name);
        EXPECT_TRUE(use.is_ok()) << "at most two others are in use";
        EXPECT_LE(loader_.loaded_bytes(), 30);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_loads_ - num_unloads_, loader_.loaded_bytes() / 10);
}

}  // namespace
}  // namespace sluice::runtime
