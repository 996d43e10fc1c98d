// Functions through a sluiced of its own process, on this machine's processors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "daemon/add_relu.h"
#include "daemon/on_processors.h"
#include "daemon/running_daemon.h"
#include "support/eventually.h"
#include "support/process.h"
#include "terms/runtime_code.h"

namespace sluice {
namespace {

using sluice::testing::eventually;
using sluice::testing::infer;
using sluice::testing::MemoryLimit;
using sluice::testing::OnProcessors;
using sluice::testing::RunningDaemon;
using sluice::testing::TempDir;
using terms::FunctionPhase;
using ::testing::ElementsAre;

class FunctionsTest : public ::testing::Test {
 protected:
  FunctionsTest() {
    auto daemon = RunningDaemon::start(folder_, {.sim = ""});
    EXPECT_TRUE(daemon.is_ok()) << daemon.status().to_string();
    if (daemon.is_ok()) daemon_ = std::move(*daemon);
    package_ = sluice::testing::write_model(folder_, "f", {1}, "cpu");
  }

  Result<terms::ModelEntry> deploy(rpc::client::Client& client, const std::string& name,
                                   const terms::FunctionOptions& options = {}) {
    terms::LoadOptions load;
    load.name = name;
    load.function = options;
    return client.upload(load, package_);
  }
  static terms::FunctionState state(rpc::client::Client& client, std::uint64_t handle) {
    return *client.list_models(handle).value().at(0).function;
  }

  TempDir folder_;
  std::unique_ptr<RunningDaemon> daemon_;
  std::string package_;
};

TEST_F(FunctionsTest, ManyFunctionsShareOneCoreAndAnswerManyClients) {
  const auto client = daemon_->client();
  const std::int32_t free_cores = client->server()->num_free_cores;
  std::vector<std::uint64_t> handles;
  for (int i = 0; i < 6; ++i) {
    const auto entry = deploy(*client, fmt::format("f{}", i));
    ASSERT_TRUE(entry.is_ok()) << entry.status().to_string();
    ASSERT_TRUE(entry->function.has_value());
    handles.push_back(entry->info.handle);
  }
  EXPECT_EQ(client->server()->num_free_cores, free_cores - 1);
  EXPECT_EQ(client->list_models()->size(), 6U) << "models of the engine are not listed beside them";
  std::atomic<int> num_right = 0;
  std::vector<std::thread> threads;
  for (const std::uint64_t handle : handles) {
    threads.emplace_back([&, handle] {
      const auto own = daemon_->client();
      for (int i = 0; i < 20; ++i) {
        const auto y = infer(*own, handle, 2);
        num_right += y.is_ok() && *y == std::vector<float>({3, 0, 5, 0}) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_right, 120);
  for (const std::uint64_t handle : handles) {
    EXPECT_EQ(state(*client, handle).num_requests, 20);
    EXPECT_TRUE(client->unload(handle).is_ok());
  }
  EXPECT_EQ(client->server()->num_free_cores, free_cores);
}

TEST_F(FunctionsTest, FunctionBecomesColdAndItsNextRequestStartsIt) {
  const auto client = daemon_->client();
  const auto entry = deploy(*client, "f", {.keep_warm_ns = 0});
  ASSERT_TRUE(entry.is_ok()) << entry.status().to_string();
  const std::uint64_t handle = entry->info.handle;
  ASSERT_TRUE(eventually([&] { return state(*client, handle).phase == FunctionPhase::kCold; }));
  EXPECT_EQ(state(*client, handle).held_bytes, 0);
  EXPECT_THAT(infer(*client, handle, 2).value(), ElementsAre(3, 0, 5, 0));
  EXPECT_EQ(state(*client, handle).num_starts, 2);
}

TEST_F(FunctionsTest, FunctionEndsWithItsSessionAndBelongsToIt) {
  const auto other = daemon_->client();
  const std::int32_t free_cores = other->server()->num_free_cores;
  auto owner = daemon_->client("owner");
  const auto entry = deploy(*owner, "f");
  ASSERT_TRUE(entry.is_ok()) << entry.status().to_string();
  EXPECT_TRUE(infer(*owner, entry->info.handle, 1).is_ok()) << "through the session's ring";
  EXPECT_EQ(infer(*other, entry->info.handle, 1).status().code(), Code::kPermissionDenied);
  owner = nullptr;
  EXPECT_TRUE(eventually([&] { return other->list_models()->empty(); }));
  // The lane returns its core after the function has left the list.
  EXPECT_TRUE(eventually([&] { return other->server()->num_free_cores == free_cores; }));
}

TEST_F(FunctionsTest, RefusesWhatNoFunctionMayHave) {
  const auto client = daemon_->client();
  EXPECT_EQ(terms::runtime_code_of(deploy(*client, "f", {.memory_bytes = 1}).status()),
            RuntimeCode::kOutOfResources);
  EXPECT_EQ(terms::runtime_code_of(deploy(*client, "f", {.share = 5000}).status()),
            RuntimeCode::kInvalid);
  EXPECT_TRUE(client->list_models()->empty());
}

TEST_F(FunctionsTest, FunctionsOfOneFileShareItsConstantsAndKernels) {
  const auto client = daemon_->client();
  terms::LoadOptions load;
  load.function = terms::FunctionOptions();
  const auto first = client->load(load, package_);
  ASSERT_TRUE(first.is_ok()) << first.status().to_string();
  EXPECT_FALSE(first->info.shares_package);
  EXPECT_EQ(first->info.name, "f") << "the file's";
  const auto second = client->load(load, package_);
  ASSERT_TRUE(second.is_ok()) << second.status().to_string();
  EXPECT_TRUE(second->info.shares_package);
  EXPECT_THAT(infer(*client, second->info.handle, 2).value(), ElementsAre(3, 0, 5, 0));
}

TEST_F(FunctionsTest, ShutdownAnswersRequestsOfFunctions) {
  const auto client = daemon_->client();
  const auto entry = deploy(*client, "f");
  ASSERT_TRUE(entry.is_ok()) << entry.status().to_string();
  EXPECT_TRUE(infer(*client, entry->info.handle, 1).is_ok());
  EXPECT_EQ(daemon_->end(SIGTERM), 0);
}

/// x = [value, ...].
terms::NamedTensor input(std::vector<float>& x) {
  return {"x", {x.data(), static_cast<std::int64_t>(4 * x.size()), ir::ElementType::kF32, {4}}};
}

std::vector<float> floats(const terms::TensorView& view) {
  const auto* data = static_cast<const float*>(view.data);
  return {data, data + view.size_bytes / 4};
}

TEST_F(FunctionsTest, FunctionsPassATensorThroughTheExchangeWithoutItsBytes) {
  for (const std::string session : {"", "owner"}) {
    const auto client = daemon_->client(session);
    const std::uint64_t first = deploy(*client, "first")->info.handle;
    const std::uint64_t second = deploy(*client, "second")->info.handle;
    std::vector<float> x(4, 2);
    // A warm function leaves its output on the device, a cold one does not.
    if (!session.empty()) {
      ASSERT_TRUE(client->infer(first, {input(x)}).is_ok());
    }
    const auto kept = client->infer(first, {input(x)}, {.kept_outputs = {"y"}});
    ASSERT_TRUE(kept.is_ok()) << kept.status().to_string();
    EXPECT_EQ(kept->outputs.at(0).view.data, nullptr) << "the bytes stay in the daemon";
    EXPECT_THAT(kept->outputs.at(0).view.dims, ElementsAre(4));
    const std::uint64_t index = kept->outputs.at(0).exchange;
    ASSERT_NE(index, 0U);
    EXPECT_THAT(floats(client->get_tensor(index)->outputs.at(0).view), ElementsAre(3, 0, 5, 0));
    const auto answer = client->infer(second, {{"x", {}, index}});
    ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
    EXPECT_THAT(floats(answer->outputs.at(0).view), ElementsAre(4, 0, 8, 0));
    ASSERT_TRUE(client->remove_tensor(index).is_ok());
    EXPECT_EQ(terms::runtime_code_of(client->infer(second, {{"x", {}, index}}).status()),
              RuntimeCode::kInvalidHandle);
  }
}

TEST_F(FunctionsTest, PutTensorIsAnInputOfManyRequestsOfItsSessionAlone) {
  auto owner = daemon_->client("owner");
  const auto other = daemon_->client("other");
  const std::uint64_t mine = deploy(*owner, "f")->info.handle;
  const std::uint64_t others = deploy(*other, "f")->info.handle;
  std::vector<float> x(4, 2);
  const auto index = owner->put_tensor(input(x).view);
  ASSERT_TRUE(index.is_ok()) << index.status().to_string();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(floats(owner->infer(mine, {{"x", {}, *index}})->outputs.at(0).view),
                ElementsAre(3, 0, 5, 0));
  }
  EXPECT_EQ(terms::runtime_code_of(other->infer(others, {{"x", {}, *index}}).status()),
            RuntimeCode::kInvalidHandle)
      << "an index is its session's";
  EXPECT_EQ(terms::runtime_code_of(other->get_tensor(*index).status()),
            RuntimeCode::kInvalidHandle);
  owner = nullptr;
  EXPECT_FALSE(daemon_->client()->get_tensor(*index).is_ok());
}

TEST_F(FunctionsTest, KeptTensorLeavesWhenItsTimeToLiveIsOver) {
  const auto client = daemon_->client();
  std::vector<float> x(4, 2);
  const auto index = client->put_tensor(input(x).view, 1);
  ASSERT_TRUE(index.is_ok());
  EXPECT_TRUE(eventually([&] { return !client->get_tensor(*index).is_ok(); }));
  EXPECT_FALSE(client->put_tensor(input(x).view, -1).is_ok());
}

TEST_F(FunctionsTest, RefusesWhatTheExchangeCannotKeepOrFind) {
  const auto client = daemon_->client();
  const std::uint64_t handle = deploy(*client, "f")->info.handle;
  std::vector<float> x(4, 2);
  const auto unknown = client->infer(handle, {input(x)}, {.kept_outputs = {"no such output"}});
  EXPECT_EQ(terms::runtime_code_of(unknown.status()), RuntimeCode::kBadInput);
  std::vector<float> wrong(8, 2);
  const terms::TensorView view = {wrong.data(), 32, ir::ElementType::kF32, {8}};
  const auto index = client->put_tensor(view);
  const auto refused = client->infer(handle, {{"x", {}, *index}});
  EXPECT_EQ(terms::runtime_code_of(refused.status()), RuntimeCode::kBadInput);
}

/// The graph of y = x + value, with 16 MiB of constants.
std::string large_graph(int value) {
  return fmt::format(R"(subgraph @0 "main" {{
input %x : f32[1]
const %c : f32[4194304] = splat {}.0
[%m : f32[1]] = ReduceMax.13[%c] {{axes = [0], keepdims = 1}}
[%y : f32[1]] = Add.14[%x, %m]
output [%y]
}}
)",
                     value);
}

/// 64 MiB have room for three of them, and nothing is ever refused.
TEST_F(OnProcessors, FunctionThatWasIdleForTheLongestTimeMakesRoomForAnother) {
  const auto daemon = start("a");
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  std::vector<std::uint64_t> handles;
  const auto answer = [&](std::size_t function) {
    float x = 1;
    const auto reply =
        client->infer(handles.at(function), {{"x", {&x, 4, ir::ElementType::kF32, {1}}}});
    EXPECT_TRUE(reply.is_ok()) << reply.status().to_string();
    return reply.is_ok() ? floats(reply->outputs.at(0).view).at(0) : -1;
  };
  const auto warm = [&] {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < handles.size(); ++i) {
      const auto phase = client->list_models(handles[i])->front().function->phase;
      if (phase != terms::FunctionPhase::kCold) found.push_back(i);
    }
    return found;
  };
  const auto deploy_next = [&] {
    const int value = static_cast<int>(handles.size()) + 1;
    terms::LoadOptions options;
    options.function = {.keep_warm_ns = terms::kAlwaysWarm};
    const auto entry = client->load(options, write(fmt::format("f{}", value), large_graph(value)));
    ASSERT_TRUE(entry.is_ok()) << entry.status().to_string();
    handles.push_back(entry->info.handle);
  };
  for (int i = 0; i < 3; ++i) deploy_next();
  ASSERT_EQ(handles.size(), 3U);
  for (const std::size_t i : {0U, 1U, 2U, 0U}) EXPECT_EQ(answer(i), static_cast<float>(i + 2));
  EXPECT_THAT(warm(), ElementsAre(0, 1, 2));
  deploy_next();
  ASSERT_EQ(handles.size(), 4U);
  EXPECT_EQ(answer(3), 5);
  EXPECT_THAT(warm(), ElementsAre(0, 2, 3)) << "function 1 was idle for the longest time";
  EXPECT_EQ(answer(1), 3) << "its next request starts it";
  EXPECT_THAT(warm(), ElementsAre(0, 1, 3));
}

/// An output whose size only the run knows, too: it stays in the memory that the kernel wrote, and
/// the next function reads it there.
TEST_F(OnProcessors, KeptTensorIsNotCopiedAtAll) {
  constexpr std::int64_t kBytes = std::int64_t{64} << 20;
  const auto daemon = start("a", 0, 16 * kBytes);
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  const auto deploy = [&](const std::string& name, std::string_view graph) -> std::uint64_t {
    terms::LoadOptions options;
    options.function.emplace();
    const auto entry = client->load(options, write(name, graph));
    EXPECT_TRUE(entry.is_ok()) << entry.status().to_string();
    return entry.is_ok() ? entry->info.handle : 0;
  };
  const std::uint64_t grow = deploy("grow", R"(subgraph @0 "main" {
input %x : i64[1]
const %one : f32[1] = [1.0]
[%y : f32[?]] = Expand.13[%one, %x]
output [%y]
}
)");
  const std::uint64_t max = deploy("max", R"(subgraph @0 "main" {
input %x : f32[N]
[%y : f32[1]] = ReduceMax.13[%x] {axes = [0], keepdims = 1}
output [%y]
}
)");
  const auto keep = [&](std::int64_t size) {
    return client->infer(grow, {{"x", {&size, 8, ir::ElementType::kI64, {1}}}},
                         {.kept_outputs = {"y"}});
  };
  ASSERT_TRUE(keep(1).is_ok());
  const MemoryLimit limit(daemon->process(), kBytes + kBytes / 2);  // no room for a copy
  const auto kept = keep(kBytes / 4);
  ASSERT_TRUE(kept.is_ok()) << kept.status().to_string();
  const auto answer = client->infer(max, {{"x", {}, kept->outputs.at(0).exchange}});
  ASSERT_TRUE(answer.is_ok()) << answer.status().to_string();
  EXPECT_THAT(floats(answer->outputs.at(0).view), ElementsAre(1));
}

}  // namespace
}  // namespace sluice
