// Models that ask for too much, served to clients on real threads: outputs of any size, answers
// that nobody reads, runs without an end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <future>
#include <thread>

#include "exec/testing/exec_testing.h"
#include "rpc/client/client.h"
#include "rpc/testing/serving.h"
#include "runtime/inference/thread_driver.h"
#include "support/eventually.h"

namespace sluice::rpc {
namespace {

using sluice::testing::eventually;
using ::testing::HasSubstr;

/// 8 bytes ask for an output of any size.
constexpr std::string_view kSizeFromInput = R"(
subgraph @0 "main" {
  input %shape : i64[1]
  const %one : f32[1] = [1.0]
  [%y : f32[?]] = Expand.13[%one, %shape]
  output [%y]
}
)";

/// Doubles a text of 2 bytes n times.
constexpr std::string_view kDoubledText = R"(
subgraph @0 "main" {
  input %n : i64[]
  const %true : bool[] = hex 01
  const %mark : string[1] = hex 000000000000000002000000000000003c3e
  [%text : string[1]] = Loop.25[%n, %true, %mark] {body = @1, captures = 0}
  output [%text]
}
subgraph @1 "body" {
  input %i : i64[]
  input %go : bool[]
  input %text : string[1]
  [%on : bool[]] = Identity.25[%go]
  [%twice : string[1]] = StringConcat.20[%text, %text]
  output [%on, %twice]
}
)";

/// Runs for as long as x is positive, and x never changes.
constexpr std::string_view kEndless = R"(
subgraph @0 "main" {
  input %x : f32[]
  const %true : bool[] = hex 01
  [%y : f32[]] = Loop.25[_, %true, %x] {body = @1, captures = 0}
  output [%y]
}
subgraph @1 "body" {
  input %i : i64[]
  input %go : bool[]
  input %x : f32[]
  const %zero : f32[] = [0.0]
  [%more : bool[]] = Greater.13[%x, %zero]
  [%same : f32[]] = Add.14[%x, %zero]
  output [%more, %same]
}
)";

/// 16 bytes ask for products that take minutes, in kernels of seconds.
std::string long_products() {
  constexpr int kProducts = 100;
  std::string text = R"(
subgraph @0 "main" {
  input %n : i64[2]
  const %half : f32[1] = [0.5]
  [%p0 : f32[?]] = Expand.13[%half, %n]
)";
  for (int i = 1; i <= kProducts; ++i) {
    text += fmt::format("  [%p{} : f32[?]] = MatMul.13[%p{}, %p0]\n", i, i - 1);
  }
  return text + fmt::format("  output [%p{}]\n}}\n", kProducts);
}
constexpr std::int64_t kLongSize = 4000;

/// Floats of an answer far beyond a message: 2.3 GiB, more than 31 bits count. The thread sanitizer
/// keeps several bytes of its own for each byte, so it gets 128 MiB.
#ifdef __SANITIZE_THREAD__
constexpr std::int64_t kFarTooMany = std::int64_t{32} << 20;
#else
constexpr std::int64_t kFarTooMany = std::int64_t{600} << 20;
#endif

constexpr std::int64_t kStreamBytes = std::int64_t{1} << 20;

class ModelLimitsTest : public testing::ServingTest<runtime::ThreadDrivers> {
 protected:
  ModelLimitsTest() : ServingTest(options()) {
    client_ = client::Client::create({.address = address()}).value();
  }
  ~ModelLimitsTest() override { stop(); }

  static service::ServiceOptions options() {
    service::ServiceOptions options;
    options.stream_answer_bytes = kStreamBytes;
    return options;
  }

  std::uint64_t load(std::string_view text, std::string_view backend = "reference",
                     terms::LoadOptions options = {}) {
    const std::string path = (folder_ / "own.sluice").string();
    EXPECT_TRUE(package::write_package(exec::testing::executable_of(text, backend), path).is_ok());
    options.depth = 1;
    options.queue_limit = 1000;
    const auto model = client_->load(options, path);
    EXPECT_TRUE(model.is_ok()) << model.status().to_string();
    return model.is_ok() ? model->info.handle : 0;
  }

  static terms::NamedTensor size_of(std::int64_t& count) {
    return {"shape", {&count, 8, ir::ElementType::kI64, {1}}};
  }
  Result<client::InferReply> ask_for(std::uint64_t model, std::int64_t count) {
    return client_->infer(model, {size_of(count)});
  }
  Result<client::InferReply> run_endless(std::uint64_t model, std::int64_t timeout_ns = 0) {
    float x = 1;
    return client_->infer(model, {{"x", {&x, 4, ir::ElementType::kF32, {}}}},
                          {.timeout_ns = timeout_ns});
  }
  Result<client::InferReply> multiply(std::uint64_t model, std::int64_t size,
                                      std::int64_t timeout_ns = 0) {
    std::array<std::int64_t, 2> n = {size, size};
    return client_->infer(model, {{"n", {n.data(), 16, ir::ElementType::kI64, {2}}}},
                          {.timeout_ns = timeout_ns});
  }
  void wait_until_accepted(std::uint64_t model) const {
    EXPECT_TRUE(eventually([&] { return service_.statistics(model)->front().accepted >= 1; }));
  }

  std::unique_ptr<client::Client> client_;
};

RuntimeCode code_of(const Status& status) { return terms::runtime_code_of(status); }

TEST_F(ModelLimitsTest, AnswerBeyondAMessageIsAnErrorOfItsRequestOnly) {
  const std::uint64_t model = load(kSizeFromInput);
  // A message has 1 MiB here. The last two are more than the machine, and more than 64 bits, have.
  for (const std::int64_t count : {std::int64_t{1} << 18, kFarTooMany, std::int64_t{1} << 50,
                                   std::numeric_limits<std::int64_t>::max()}) {
    const auto reply = ask_for(model, count);
    EXPECT_FALSE(reply.is_ok()) << count;
  }
  EXPECT_EQ(code_of(ask_for(model, std::int64_t{1} << 18).status()), RuntimeCode::kOutOfResources);
  EXPECT_EQ(code_of(ask_for(model, std::int64_t{1} << 50).status()), RuntimeCode::kOutOfResources);
  const auto reply = ask_for(model, 1000);
  ASSERT_TRUE(reply.is_ok()) << reply.status().to_string();
  EXPECT_EQ(reply->outputs.at(0).view.size_bytes, 4000);
}

TEST_F(ModelLimitsTest, RunThatGrowsBeyondTheQuotaOfItsFunctionEnds) {
  constexpr std::int64_t kCount = 100'000;  // 400 KB, for which a message and the machine have room
  terms::LoadOptions options;
  options.function.emplace().memory_bytes = 1 << 18;
  const std::uint64_t limited = load(kSizeFromInput, "reference", options);
  const auto reply = ask_for(limited, kCount);
  EXPECT_EQ(code_of(reply.status()), RuntimeCode::kOutOfResources);
  EXPECT_THAT(reply.status().message(), HasSubstr("quota of 262144 bytes"));
  const auto next = ask_for(limited, 1000);
  EXPECT_TRUE(next.is_ok()) << "the next run is whole: " << next.status().to_string();
  EXPECT_TRUE(ask_for(load(kSizeFromInput), kCount).is_ok()) << "a model has no quota";
}

TEST_F(ModelLimitsTest, TextsOfARunCountAgainstTheQuotaOfItsFunction) {
  terms::LoadOptions options;
  options.function.emplace().memory_bytes = 1 << 20;
  const std::uint64_t limited = load(kDoubledText, "reference", options);
  const auto doubled = [&](std::int64_t times) {
    return client_->infer(limited, {{"n", {&times, 8, ir::ElementType::kI64, {}}}});
  };
  for (const std::int64_t times : {std::int64_t{20}, std::int64_t{62}}) {
    const auto reply = doubled(times);
    EXPECT_EQ(code_of(reply.status()), RuntimeCode::kOutOfResources);
    EXPECT_THAT(reply.status().message(), HasSubstr("quota of 1048576 bytes"));
  }
  const auto next = doubled(10);
  ASSERT_TRUE(next.is_ok()) << "the next run is whole: " << next.status().to_string();
  EXPECT_EQ(next->outputs.at(0).view.size_bytes, 2 * 8 + 2048);
}

TEST_F(ModelLimitsTest, ModelWithUnboundedNamesOfTensorsIsRefused) {
  const auto text = [](std::size_t bytes) {
    const std::string name(bytes, 'n');
    return fmt::format(
        "subgraph @0 \"main\" {{\n  input %{0} : f32[1]\n  [%y : f32[1]] = Relu.14[%{0}]\n"
        "  output [%y]\n}}\n",
        name);
  };
  EXPECT_NE(load(text(256)), 0U);
  const std::string path = (folder_ / "long.sluice").string();
  ASSERT_TRUE(package::write_package(exec::testing::executable_of(text(257)), path).is_ok());
  const auto refused = client_->load({}, path);
  EXPECT_EQ(code_of(refused.status()), RuntimeCode::kInvalid);
  EXPECT_THAT(refused.status().message(), HasSubstr("the name of a tensor has 257 bytes"));
  EXPECT_EQ(service_.list_models(0)->size(), 1U);
}

TEST_F(ModelLimitsTest, UnreadStreamStopsItsModel) {
  const std::uint64_t model = load(kSizeFromInput);
  constexpr int kRequests = 100;
  constexpr std::int64_t kCount = 50'000;  // 200 KB each, 20 MB in all
  const auto stream = client_->open_stream().value();
  std::thread sender([&] {
    for (std::uint64_t id = 1; id <= kRequests; ++id) {
      std::int64_t count = kCount;
      if (!stream->send(id, model, {size_of(count)}).is_ok()) return;
    }
    stream->close();
  });
  // Until the model stands still: what it computed then is what the daemon holds. A machine that
  // stands still makes it less, not more.
  std::int64_t computed = -1;
  for (std::int64_t now = 0; now != computed;) {
    computed = now;
    sluice::testing::pause_for(std::chrono::milliseconds(200));
    now = service_.statistics(model)->front().accepted;
  }
  EXPECT_LT(computed, kRequests / 2);
  int answered = 0;
  for (auto next = stream->next(); next.is_ok() && next->has_value(); next = stream->next()) {
    EXPECT_TRUE((*next)->reply.is_ok()) << (*next)->reply.status().to_string();
    ++answered;
  }
  sender.join();
  EXPECT_EQ(answered, kRequests) << "all are computed once the client reads";
}

TEST_F(ModelLimitsTest, DeadlineEndsAnEndlessRun) {
  const std::uint64_t model = load(kEndless);
  const auto reply = run_endless(model, 50'000'000);
  EXPECT_EQ(code_of(reply.status()), RuntimeCode::kTimeout) << reply.status().to_string();
  EXPECT_TRUE(client_->unload(model).is_ok());
}

TEST_F(ModelLimitsTest, TimeLimitOfALoadEndsAnEndlessRun) {
  terms::LoadOptions options;
  options.max_run_ns = 50'000'000;
  const std::uint64_t model = load(kEndless, "reference", options);
  const auto reply = run_endless(model);
  EXPECT_EQ(code_of(reply.status()), RuntimeCode::kTimeout);
  EXPECT_THAT(reply.status().message(), HasSubstr("stopped after 0.05 s"));
  options.function.emplace();
  const std::uint64_t function = load(long_products(), "cpu", options);
  EXPECT_EQ(code_of(multiply(function, kLongSize).status()), RuntimeCode::kTimeout);
  EXPECT_TRUE(multiply(function, 2).is_ok()) << "the next run is whole";
}

TEST_F(ModelLimitsTest, TimeLimitOfTheDaemonHoldsForLoadsWithoutOne) {
  service::ServiceOptions options = service_.options();
  options.max_run_ns = 50'000'000;
  service_.set_options(options);
  const std::uint64_t model = load(long_products(), "cpu");
  EXPECT_EQ(code_of(multiply(model, kLongSize).status()), RuntimeCode::kTimeout);
  terms::LoadOptions none;
  none.max_run_ns = 0;
  const std::uint64_t unlimited = load(kEndless, "reference", none);
  auto endless = std::async(std::launch::async, [&] { return run_endless(unlimited); });
  wait_until_accepted(unlimited);
  sluice::testing::pause_for(std::chrono::milliseconds(200));
  EXPECT_TRUE(client_->unload(unlimited).is_ok());
  EXPECT_EQ(code_of(endless.get().status()), RuntimeCode::kCancelled);
}

TEST_F(ModelLimitsTest, UnloadEndsAnEndlessRun) {
  const std::uint64_t model = load(kEndless);
  auto reply = std::async(std::launch::async, [&] { return run_endless(model); });
  wait_until_accepted(model);
  EXPECT_TRUE(client_->unload(model).is_ok());
  EXPECT_EQ(code_of(reply.get().status()), RuntimeCode::kCancelled);
}

TEST_F(ModelLimitsTest, EndOfASessionEndsItsEndlessRun) {
  auto other = client::Client::create({.address = address(), .uses_ring = false}).value();
  ASSERT_TRUE(other->open_session("endless").is_ok());
  std::swap(client_, other);
  const std::uint64_t model = load(kEndless);
  const auto stream = client_->open_stream().value();
  float x = 1;
  ASSERT_TRUE(stream->send(1, model, {{"x", {&x, 4, ir::ElementType::kF32, {}}}}).is_ok());
  wait_until_accepted(model);
  std::swap(client_, other);
  const auto sessions = client_->list_sessions().value();
  ASSERT_EQ(sessions.size(), 1U);
  EXPECT_TRUE(client_->close_session(sessions[0].id).is_ok());
  EXPECT_TRUE(eventually([&] { return service_.list_models(0)->empty(); }));
}

TEST_F(ModelLimitsTest, ShutdownEndsAnEndlessRun) {
  const std::uint64_t model = load(kEndless);
  auto reply = std::async(std::launch::async, [&] { return run_endless(model); });
  wait_until_accepted(model);
  service_.shutdown(0);
  EXPECT_FALSE(reply.get().is_ok());
}

TEST_F(ModelLimitsTest, DeadlineEndsARunWithinItsKernels) {
  const std::uint64_t model = load(long_products(), "cpu");
  const auto reply = multiply(model, kLongSize, 50'000'000);
  EXPECT_EQ(code_of(reply.status()), RuntimeCode::kTimeout) << reply.status().to_string();
  // Behind the long run, if that went on.
  const auto next = multiply(model, 2, 60'000'000'000);
  EXPECT_TRUE(next.is_ok()) << next.status().to_string();
}

TEST_F(ModelLimitsTest, StopEndsARunWithinItsKernels) {
  const std::uint64_t model = load(long_products(), "cpu");
  auto reply = std::async(std::launch::async, [&] { return multiply(model, kLongSize); });
  wait_until_accepted(model);
  // A run that went on would make it a lost device.
  const Status stopped = client_->stop(model);
  EXPECT_TRUE(stopped.is_ok()) << stopped.to_string();
  EXPECT_EQ(code_of(reply.get().status()), RuntimeCode::kCancelled);
  EXPECT_TRUE(client_->unload(model).is_ok());
}

}  // namespace
}  // namespace sluice::rpc
