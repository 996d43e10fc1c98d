// Events that a program hears of libsluice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "sluice/backend.h"
#include "two_places.h"

namespace sluice::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ProgramLog : public ::testing::Test {
 protected:
  ~ProgramLog() override { EXPECT_FALSE(set_log({})); }

  void listen(int most) {
    const auto error = set_log(
        [this](int level, std::string_view event) {
          const std::lock_guard lock(mutex_);
          events_.push_back(std::to_string(level) + " " + std::string(event));
        },
        most);
    ASSERT_FALSE(error) << error->message;
  }
  std::vector<std::string> heard() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }

  std::mutex mutex_;
  std::vector<std::string> events_;
};

TEST_F(ProgramLog, HearsWhatHappensToModels) {
  listen(SLUICE_LOG_INFO);
  ASSERT_TRUE(Model::open(digits_package()));
  auto runtime = Runtime::create();
  ASSERT_TRUE(runtime) << runtime.error().message;
  auto model = runtime->load({.path = digits_package(), .name = "seven"});
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_FALSE(model->stop());
  ASSERT_FALSE(model->start());
  ASSERT_FALSE(model->unload());
  const auto events = heard();
  EXPECT_THAT(events, Contains(StartsWith("5 model.opened source=")));
  EXPECT_THAT(events, Contains(StartsWith("5 model.loaded name=\"seven\" model=")));
  EXPECT_THAT(events, Contains(StartsWith("5 model.stopped model=")));
  EXPECT_THAT(events, Contains(StartsWith("5 model.started model=")));
  EXPECT_THAT(events, Contains(StartsWith("5 model.unloaded model=")));
  EXPECT_THAT(events, Not(Contains(StartsWith("6 ")))) << "debug was not wanted";
}

TEST_F(ProgramLog, HearsPlansAndFailuresAtLevelDebug) {
  auto model = Model::open(digits_package());
  auto context = model->create_context();
  listen(SLUICE_LOG_DEBUG);
  EXPECT_TRUE(context->run()) << "no input is set";
  const std::vector<float> pixels(3 * 64);
  ASSERT_FALSE(context->set_input("image", pixels, {3, 1, 8, 8}));
  ASSERT_FALSE(context->run());
  const auto events = heard();
  EXPECT_THAT(events, Contains(HasSubstr("call.failed code=9 reason=\"input \\\"image\\\"")));
  EXPECT_THAT(events, Contains(StartsWith("6 shapes.planned subgraph=0")));
  ASSERT_FALSE(context->run());
  EXPECT_THAT(heard(), Not(Contains(HasSubstr("shapes.planned")))) << "the plan is known";
}

TEST_F(ProgramLog, HearsPluginThatDoesNotLoad) {
  const TempDir folder;
  std::FILE* file = std::fopen((folder / "libsluice_backend_cpu.so").c_str(), "w");
  std::fputs("no library", file);
  std::fclose(file);
  listen(SLUICE_LOG_WARNING);
  const std::string backends = folder.path().string();
  sluice_open_options options = {};
  options.struct_size = sizeof(options);
  options.backend_dir = backends.c_str();
  sluice_model* model = nullptr;
  ASSERT_EQ(sluice_model_open(digits_package().c_str(), &options, &model), 0)
      << sluice_last_error();
  sluice_model_close(model);
  EXPECT_THAT(heard(), Contains(StartsWith("4 backend.refused name=\"cpu\" reason=")));
}

TEST_F(ProgramLog, IsSilentWithoutCallback) {
  listen(SLUICE_LOG_TRACE);
  ASSERT_FALSE(set_log({}));
  EXPECT_FALSE(Model::open("/no/such.sluice"));
  EXPECT_TRUE(heard().empty());
}

TEST_F(ProgramLog, CallbackThatThrowsOrCallsSluiceDoesNoHarm) {
  std::optional<Error> replaced;
  ASSERT_FALSE(set_log(
      [&](int, std::string_view) {
        EXPECT_FALSE(Model::open("/no/other.sluice")) << "fails as elsewhere, and is not heard";
        replaced = set_log({});
        throw std::runtime_error("of the program");
      },
      SLUICE_LOG_DEBUG));
  const auto model = Model::open("/no/such.sluice");
  ASSERT_FALSE(model);
  ASSERT_TRUE(replaced);
  EXPECT_EQ(replaced->code, Code::kFailedPrecondition);
}

TEST_F(ProgramLog, ThreadsLogWhileTheCallbackIsReplaced) {
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!is_over) EXPECT_FALSE(Model::open("/no/such.sluice"));
    });
  }
  for (int i = 0; i < 100; ++i) {
    const auto is_alive = std::make_shared<std::atomic<bool>>(true);
    ASSERT_FALSE(set_log([&alive = *is_alive](int, std::string_view) { EXPECT_TRUE(alive); },
                         SLUICE_LOG_DEBUG));
    ASSERT_FALSE(set_log({}));
    *is_alive = false;
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ProgramLog, UnknownLevelIsRefused) {
  EXPECT_EQ(sluice_set_log(nullptr, nullptr, 2), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_set_log(nullptr, nullptr, 8), SLUICE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace sluice::testing
