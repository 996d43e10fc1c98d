// Queues, sessions and combined models through the installed headers, on the plug-in `cpu`.
#include "sluice/session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "support/eventually.h"
#include "support/paths.h"

namespace {

using sluice::testing::eventually;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr sluice::Code kNotFound = sluice::Code::kNotFound;
constexpr sluice::Code kFailedPrecondition = sluice::Code::kFailedPrecondition;

/// "image" f32[N,1,8,8] to "probabilities" f32[N,10].
std::string digits() {
  return sluice::testing::source_path("tests/golden/package/format_1_0.sluice").string();
}

struct Image {
  alignas(64) std::array<float, 64> pixels = {};
};
struct Answer {
  alignas(64) std::array<float, 10> values = {};
};

class QueuesApi : public ::testing::Test {
 protected:
  QueuesApi() : runtime_(std::move(*sluice::Runtime::create())), model_(load()) {}
  sluice::LoadedModel load() {
    auto model = runtime_.load({.path = digits(), .depth = 2});
    EXPECT_TRUE(model) << model.error().message;
    return std::move(*model);
  }
  sluice::Queues open(std::int32_t capacity = 0) {
    auto queues = sluice::Queues::open(runtime_, model_, capacity);
    EXPECT_TRUE(queues) << queues.error().message;
    return std::move(*queues);
  }

  sluice::Runtime runtime_;
  sluice::LoadedModel model_;
};

TEST_F(QueuesApi, ModelTakesEntriesByItself) {
  constexpr int kCount = 40;
  std::vector<Image> images(kCount);
  std::vector<Answer> answers(kCount);
  std::atomic<int> num_done = 0;
  auto queues = open(4);
  const auto on_done = [&](sluice::RuntimeCode code, std::int64_t size_bytes) {
    EXPECT_EQ(code, sluice::RuntimeCode::kOk);
    EXPECT_THAT(size_bytes, testing::AnyOf(256, 40));
    ++num_done;
    num_done.notify_all();
  };
  std::jthread producer([&] {
    for (Image& image : images) {
      EXPECT_FALSE(queues.enqueue("image", std::span<const float>(image.pixels), on_done,
                                  std::chrono::seconds(20)));
    }
  });
  for (Answer& answer : answers) {
    EXPECT_FALSE(queues.enqueue("probabilities", std::span<float>(answer.values), on_done,
                                std::chrono::seconds(20)));
  }
  for (int n = num_done; n < 2 * kCount; n = num_done) num_done.wait(n);
  for (const Answer& answer : answers) {
    float sum = 0;
    for (const float p : answer.values) sum += p;
    EXPECT_NEAR(sum, 1, 1e-4);
  }
}

TEST_F(QueuesApi, FullQueueRefusesAndCloseReturnsEntries) {
  auto queues = open(2);
  Image image;
  std::atomic<int> num_cancelled = 0;
  const auto on_done = [&](sluice::RuntimeCode code, std::int64_t) {
    num_cancelled += code == sluice::RuntimeCode::kCancelled ? 1 : 0;
  };
  const std::span<const float> pixels(image.pixels);
  int num_accepted = 0;
  while (!queues.enqueue("image", pixels, on_done)) ++num_accepted;
  EXPECT_EQ(sluice_last_error_runtime_code(), SLUICE_RUNTIME_CODE_QUEUE_FULL);
  EXPECT_EQ(num_accepted, 2);
  EXPECT_EQ(queues.enqueue("picture", pixels)->code, kNotFound);
  EXPECT_FALSE(queues.close());
  EXPECT_EQ(num_cancelled, 2);
}

TEST_F(QueuesApi, ClosingTheRuntimeEndsWaitingEnqueuers) {
  auto queues = open(2);
  Image image;
  std::atomic<int> num_cancelled = 0;
  std::atomic<bool> is_waiting = false;
  std::jthread producer([&] {
    const auto on_done = [&](sluice::RuntimeCode, std::int64_t) { ++num_cancelled; };
    std::optional<sluice::Error> error;
    while (!error) {
      error = queues.enqueue("image", std::span<const float>(image.pixels), on_done,
                             sluice::Nanoseconds(is_waiting ? -1 : 0));
      if (error && !is_waiting.exchange(true)) error = std::nullopt;
    }
    EXPECT_EQ(error->code, kFailedPrecondition);
  });
  EXPECT_TRUE(eventually([&] { return is_waiting.load(); }));
  EXPECT_FALSE(runtime_.close());
  producer.join();
  EXPECT_EQ(num_cancelled, 2);
  EXPECT_EQ(queues.close()->code, kFailedPrecondition);
}

TEST_F(QueuesApi, CombinedModelJoinsRequestsOfItsReplicas) {
  auto combined = runtime_.combine(
      {&model_}, {.batch_rows = 8, .max_delay = std::chrono::milliseconds(5), .name = "batched"});
  ASSERT_TRUE(combined) << combined.error().message;
  EXPECT_EQ(combined->info()->name, "batched");
  Image image;
  const std::vector<sluice::InputTensor> inputs = {
      sluice::tensor<float>("image", image.pixels, {1, 1, 8, 8})};
  std::vector<sluice::Request> requests;
  for (int i = 0; i < 20; ++i) {
    auto request = combined->submit(inputs);
    ASSERT_TRUE(request) << request.error().message;
    requests.push_back(std::move(*request));
  }
  for (sluice::Request& request : requests) {
    const auto reply = request.wait();
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->output<float>()->dims, (std::vector<std::int64_t>{1, 10}));
  }
  EXPECT_TRUE(combined->infer(inputs));
  EXPECT_EQ(combined->start()->code, kFailedPrecondition);
  EXPECT_FALSE(combined->unload());
}

TEST_F(QueuesApi, CombinedModelEndsWithItsRuntime) {
  auto combined = runtime_.combine({&model_});
  ASSERT_TRUE(combined) << combined.error().message;
  Image image;
  EXPECT_TRUE(combined->infer({sluice::tensor<float>("image", image.pixels, {1, 1, 8, 8})}));
  EXPECT_FALSE(runtime_.close());
  EXPECT_EQ(combined->infer({}).error().code, kFailedPrecondition);
  std::uint64_t model = 0;
  EXPECT_EQ(sluice_runtime_combine(runtime_.get(), nullptr, 0, nullptr, &model),
            SLUICE_FAILED_PRECONDITION);
}

class SessionApi : public ::testing::Test {
 protected:
  SessionApi() : session_(std::move(*sluice::Session::create(digits(), {.num_threads = 1}))) {}
  sluice::Session session_;
  Image image_;
  Answer answer_;
};

TEST_F(SessionApi, UnboundTensorsAreNamedBeforeARun) {
  EXPECT_FALSE(session_.load());
  const auto error = session_.verify(SLUICE_PROGRAM_MAIN);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, kFailedPrecondition);
  EXPECT_THAT(error->message, HasSubstr("input \"image\""));
  EXPECT_THAT(error->message, HasSubstr("output \"probabilities\""));
  EXPECT_EQ(session_.run_main()->code, kFailedPrecondition);
}

TEST_F(SessionApi, MemoryIsReadAndWrittenByEveryRun) {
  EXPECT_EQ(session_.run_main()->code, kFailedPrecondition) << "not loaded";
  ASSERT_FALSE(session_.load());
  ASSERT_FALSE(session_.bind_source("image", std::span<const float>(image_.pixels), {1, 1, 8, 8}));
  ASSERT_FALSE(session_.bind_sink("probabilities", std::span<float>(answer_.values)));
  EXPECT_FALSE(session_.run_main());
  const auto first = answer_.values;
  image_.pixels.fill(1);
  EXPECT_FALSE(session_.run_main());
  EXPECT_NE(answer_.values, first);
}

TEST_F(SessionApi, ConsumerGetsOutputsAndItsErrorFailsTheRun) {
  ASSERT_FALSE(session_.load());
  ASSERT_FALSE(session_.bind_source("image", std::span<const float>(image_.pixels), {1, 1, 8, 8}));
  int num_calls = 0;
  ASSERT_FALSE(session_.bind_consumer(
      "probabilities", [&](const sluice_array& array) -> std::optional<sluice::Error> {
        EXPECT_EQ(array.size_bytes, 40);
        if (++num_calls == 1) return std::nullopt;
        return sluice::Error{sluice::Code::kResourceExhausted, "full"};
      }));
  EXPECT_FALSE(session_.run_main());
  const auto error = session_.run_main();
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, sluice::Code::kResourceExhausted);
  EXPECT_THAT(error->message, HasSubstr("taking \"probabilities\""));
  EXPECT_THAT(error->message, EndsWith(": full"));
  EXPECT_EQ(num_calls, 2);
}

TEST_F(SessionApi, ErrorOfAConsumerIsForgottenByTheNextRun) {
  ASSERT_FALSE(session_.load());
  ASSERT_FALSE(session_.bind_source("image", std::span<const float>(image_.pixels), {1, 1, 8, 8}));
  for (const char* reason : {"no screen", "no printer"}) {
    ASSERT_FALSE(session_.bind_consumer(
        "probabilities", [=](const sluice_array& /*array*/) -> std::optional<sluice::Error> {
          return sluice::Error{sluice::Code::kUnavailable, reason};
        }));
    const auto error = session_.run_main();
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message, EndsWith(std::string("status 14: ") + reason));
  }
}

TEST_F(SessionApi, SaveCopiesConstantsBack) {
  std::string constant;
  std::size_t size_bytes = 0;
  for (const sluice::ProgramTensor& tensor : session_.tensors()) {
    if (tensor.role == SLUICE_TENSOR_CONSTANT && constant.empty()) constant = tensor.name;
  }
  ASSERT_NE(constant, "");
  ASSERT_FALSE(session_.bind_consumer(
      constant, [&](const sluice_array& array) -> std::optional<sluice::Error> {
        size_bytes = static_cast<std::size_t>(array.size_bytes);
        return std::nullopt;
      }));
  ASSERT_FALSE(session_.load());
  EXPECT_FALSE(session_.save());
  EXPECT_GT(size_bytes, 0U);
}

TEST_F(SessionApi, BadArgumentsAreRefused) {
  EXPECT_EQ(session_.bind_source("nothing", std::span<const float>(image_.pixels), {64})->code,
            kNotFound);
  EXPECT_EQ(session_.bind_sink("image", std::span<float>(answer_.values))->code,
            sluice::Code::kInvalidArgument);
  EXPECT_EQ(session_.bind_source("image", std::span<const float>(image_.pixels), {64})->code,
            sluice::Code::kInvalidArgument);
  EXPECT_EQ(session_.verify(7)->code, sluice::Code::kInvalidArgument);
  EXPECT_EQ(sluice::Session::create("/no/such.sluice").error().code, kNotFound);
  EXPECT_EQ(sluice_session_run(nullptr, 0), 3);
  sluice_session_free(nullptr);
}

}  // namespace
