// A sluiced that computes on this machine's processors, over its socket: claims of
// docs/seed-coverage that simulated devices cannot prove.
#include "daemon/on_processors.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <limits>
#include <utility>

#include "daemon/steady_requests.h"
#include "terms/runtime_code.h"

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;

/// The graph of y = x + c, with c of this size.
std::string sum_with(std::int64_t constant_bytes) {
  const std::int64_t size = constant_bytes / 4;
  return fmt::format(R"(subgraph @0 "main" {{
input %x : f32[{0}]
const %c : f32[{0}] = splat 1.0
[%y : f32[{0}]] = Add.14[%x, %c]
output [%y]
}}
)",
                     size);
}

/// A graph with 15 matrices of 1 MiB, which each load packs: a load takes much longer than a
/// request.
std::string products() {
  std::string text = "subgraph @0 \"main\" {\n  input %x0 : f32[1,512]\n";
  for (int i = 0; i < 15; ++i) {
    text += fmt::format("  const %w{0} : f32[512,512] = splat {0}.0\n", i);
    text += fmt::format("  [%x{} : f32[1,512]] = MatMul.13[%x{}, %w{}]\n", i + 1, i, i);
  }
  return text + "  output [%x15]\n}\n";
}

TEST_F(OnProcessors, KilledDaemonLeavesTheRequestsOfOthersAlone) {
  auto killed = start("a", 0);
  const auto other = start("b", 1);
  ASSERT_TRUE(killed && other);
  const auto client = other->client();
  const auto model = client->load({}, small_);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  SteadyRequests beside(other->client(), model->info.handle);
  auto doomed_client = killed->client();
  const auto doomed = doomed_client->load({}, small_);
  ASSERT_TRUE(doomed.is_ok()) << doomed.status().to_string();
  SteadyRequests on_killed(std::move(doomed_client), doomed->info.handle);
  on_killed.wait_for_more(20);
  beside.wait_for_more(20);
  EXPECT_EQ(killed->end(SIGKILL), -SIGKILL);
  beside.wait_for_more(50);
  EXPECT_TRUE(beside.stop().is_ok()) << beside.stop().to_string();
  EXPECT_EQ(on_killed.stop().code(), Code::kUnavailable) << "it was computing until then";
}

TEST_F(OnProcessors, LoadsAndUnloadsGoOnBesideRequestsOfTheirGroup) {
  constexpr int kTries = 500;
  /// A load packs 15 matrices: a lock that it holds lets few requests through before and after.
  constexpr std::int64_t kManyRequests = 20;
  const auto daemon = start("a");
  ASSERT_NE(daemon, nullptr);
  const std::string large = write("large", products());
  const auto client = daemon->client();
  const auto group = client->create_group({.num_cores = 1});
  ASSERT_TRUE(group.is_ok()) << group.status().to_string();
  terms::LoadOptions options;
  options.group = group->info.id;
  options.name = "running";
  const auto running = client->load(options, small_);
  ASSERT_TRUE(running.is_ok()) << running.status().to_string();
  ASSERT_TRUE(client->start(running->info.handle).is_ok());
  SteadyRequests requests(daemon->client(), running->info.handle);
  options.name = "other";
  // Other processes may hold up the requests beside a load, but not beside every load.
  bool went_on = false;
  for (int i = 0; i < kTries && (i < 3 || !went_on); ++i) {
    requests.wait_for_more(1);
    const std::int64_t before = requests.num_answered();
    const auto other = client->load(options, large);
    const std::int64_t beside = requests.num_answered() - before;
    ASSERT_TRUE(other.is_ok()) << other.status().to_string();
    went_on |= beside >= kManyRequests;
    EXPECT_EQ(client->list_models()->size(), 2U);
    requests.wait_for_more(1);
    ASSERT_TRUE(client->unload(other->info.handle).is_ok());
  }
  EXPECT_TRUE(went_on) << "requests wait for the end of a load";
  const Status status = requests.stop();
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST_F(OnProcessors, LoadGetsAllThatItNeedsOrNothing) {
  const auto daemon = start("a", 0, 4 * kMiB);
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  const auto expect_refusal = [&](const terms::LoadOptions& options, const std::string& package,
                                  RuntimeCode code) {
    const auto model = client->load(options, package);
    EXPECT_EQ(terms::runtime_code_of(model.status()), code) << model.status().to_string();
    EXPECT_TRUE(client->list_models()->empty());
  };
  const std::string large = write("large", sum_with(8 * kMiB));
  const std::string wide = write_model(folder_, "wide", {1, 1}, "cpu");
  expect_refusal({}, large, RuntimeCode::kOutOfResources);
  expect_refusal({}, wide, RuntimeCode::kNotEnoughCores);
  EXPECT_TRUE(client->list_groups()->empty());
  EXPECT_EQ(client->server()->num_free_cores, 1);

  const auto group = client->create_group({.num_cores = 1});
  ASSERT_TRUE(group.is_ok()) << group.status().to_string();
  terms::LoadOptions onto;
  onto.group = group->info.id;
  expect_refusal(onto, large, RuntimeCode::kOutOfResources);
  EXPECT_EQ(client->list_groups()->front().info.memory_used_bytes, 0);
  ASSERT_TRUE(client->destroy_group(static_cast<std::uint64_t>(group->info.id.value())).is_ok());

  const auto model =
      client->load({}, small_);  // needs all resources that the refused ones could have leaked
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  EXPECT_THAT(infer(*client, model->info.handle, 2).value(), ElementsAre(3, 0, 5, 0));
  const auto groups = client->list_groups();
  EXPECT_GT(groups->front().info.memory_used_bytes, 0);
  EXPECT_EQ(groups->front().info.max_memory_bytes, 4 * kMiB);
}

TEST_F(OnProcessors, AnswersHaveTheCodeOfTheirEnd) {
  const auto daemon = start("a", 0);
  ASSERT_NE(daemon, nullptr);
  const auto client = daemon->client();
  const auto group = client->create_group({.num_cores = 1});
  ASSERT_TRUE(group.is_ok()) << group.status().to_string();
  terms::LoadOptions options;
  options.group = group->info.id;
  options.nan_policy = terms::NanPolicy::kFlag;
  const auto sum = client->load(options, small_);
  const auto pick = client->load(options, write("pick", R"(subgraph @0 "main" {
  input %x : f32[4]
  input %i : i64[1]
  [%y : f32[1]] = Gather.13[%x, %i]
  output [%y]
}
)"));
  ASSERT_TRUE(sum.is_ok() && pick.is_ok()) << sum.status().to_string() + pick.status().to_string();
  std::vector<float> four(4, 1.0F);
  std::vector<float> five(5, 1.0F);
  std::vector<float> nan(4, std::numeric_limits<float>::quiet_NaN());
  const auto code_of = [&](std::uint64_t model, const std::vector<terms::NamedTensor>& inputs) {
    const auto reply = client->infer(model, inputs);
    return reply.is_ok() ? reply->code : terms::runtime_code_of(reply.status());
  };
  EXPECT_EQ(code_of(sum->info.handle, input_x(four)), RuntimeCode::kFailed) << "not started";
  EXPECT_EQ(code_of(0x123456789, input_x(four)), RuntimeCode::kInvalidHandle);
  ASSERT_TRUE(client->start(sum->info.handle).is_ok());
  EXPECT_EQ(code_of(sum->info.handle, input_x(four)), RuntimeCode::kOk);
  EXPECT_EQ(code_of(sum->info.handle, input_x(five)), RuntimeCode::kBadInput);
  EXPECT_EQ(code_of(sum->info.handle, input_x(nan)), RuntimeCode::kNumericError);
  ASSERT_TRUE(client->stop(sum->info.handle).is_ok());
  ASSERT_TRUE(client->start(pick->info.handle).is_ok());
  std::int64_t index = 3;
  auto inputs = input_x(four);
  inputs.push_back({"i", {&index, 8, ir::ElementType::kI64, {1}}});
  EXPECT_EQ(code_of(pick->info.handle, inputs), RuntimeCode::kOk);
  index = 4;
  EXPECT_EQ(code_of(pick->info.handle, inputs), RuntimeCode::kBadInput)
      << "the kernel finds the index";
}

}  // namespace
}  // namespace sluice::testing
