// The same program over an engine in this process and over a daemon, through libsluice alone.
#include "two_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "sluice/backend.h"
#include "sluice/statistics.hpp"
#include "support/eventually.h"

namespace {

using sluice::Code;
using sluice::testing::eventually;
using sluice::testing::image;
using sluice::testing::Place;
using sluice::testing::TwoPlaces;
using ::testing::HasSubstr;

std::string digits() { return sluice::testing::digits_package(); }

INSTANTIATE_TEST_SUITE_P(Places, TwoPlaces,
                         ::testing::Values(Place::kLocal, Place::kRing, Place::kGrpc));

TEST_P(TwoPlaces, ModelAnswers) {
  const auto model = load();
  const auto info = model.info();
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->phase, SLUICE_MODEL_STARTED);
  EXPECT_EQ(info->inputs.at(0).type, "f32[N,1,8,8]");
  for (const std::int64_t n : {1, 5, 64}) {
    const auto reply = model.infer(image(n), {.wants_detail = true});
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->output<float>("probabilities")->dims, (std::vector<std::int64_t>{n, 10}));
    ASSERT_NE(reply->detail(), nullptr);
    EXPECT_STREQ(reply->detail()->backends[0], "cpu");
  }
}

TEST_P(TwoPlaces, GroupTakesTurnsBetweenItsModels) {
  auto group = runtime_.create_group({.num_cores = 1});
  ASSERT_TRUE(group) << group.error().message;
  auto first = load({.path = digits(), .name = "first", .group = group->id()});
  auto second = load({.path = digits(), .name = "second", .group = group->id()});
  EXPECT_EQ(first.infer(image()).error().code, Code::kFailedPrecondition);
  EXPECT_FALSE(first.start());
  EXPECT_TRUE(first.infer(image()));
  EXPECT_EQ(second.start()->code, Code::kFailedPrecondition);
  EXPECT_FALSE(first.stop());
  EXPECT_FALSE(second.start());
  EXPECT_TRUE(second.infer(image()));
  EXPECT_EQ(runtime_.groups()->front().active_model, "second");
  EXPECT_EQ(runtime_.find_model("first")->id(), first.id());
}

TEST_P(TwoPlaces, FunctionsShareALaneAndAreDeployedInvokedListedAndRemoved) {
  auto first = load({.path = digits(), .name = "first", .function = sluice::FunctionOptions()});
  auto second =
      load({.path = digits(), .name = "second", .function = sluice::FunctionOptions{.share = 3}});
  EXPECT_EQ(first.info()->group, second.info()->group);
  EXPECT_TRUE(first.infer(image()));
  EXPECT_TRUE(second.infer(image())) << "without a start, as functions take turns";
  EXPECT_FALSE(first.stop());
  EXPECT_TRUE(first.infer(image())) << "its request starts a cold function";
  EXPECT_EQ(runtime_.models()->size(), 2U) << "models of the lane are not listed beside them";
  EXPECT_EQ(runtime_.find_model("second")->id(), second.id());
  EXPECT_FALSE(first.unload());
  EXPECT_FALSE(second.unload());
  EXPECT_TRUE(runtime_.models()->empty());
  EXPECT_TRUE(runtime_.groups()->empty()) << "the lane ends with its last function";
}

TEST_P(TwoPlaces, FunctionsOutOfRangeAreRefused) {
  const auto refusal = [&](const sluice::FunctionOptions& function, std::uint64_t group = 0) {
    return runtime_.load({.path = digits(), .group = group, .function = function}).error().message;
  };
  EXPECT_THAT(refusal({.share = 5000}), HasSubstr("share"));
  EXPECT_THAT(refusal({.memory_bytes = 1}), HasSubstr("quota"));
  EXPECT_THAT(refusal({}, 1), HasSubstr("leave out the group"));
}

TEST_P(TwoPlaces, PackageComesFromMemory) {
  std::vector<std::byte> bytes(1 << 20);
  std::FILE* file = std::fopen(digits().c_str(), "rb");
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  std::fclose(file);
  EXPECT_TRUE(load({.package = bytes, .name = "bytes"}).infer(image()));
  const auto footprint = runtime_.estimate({.package = bytes});
  ASSERT_TRUE(footprint) << footprint.error().message;
  EXPECT_GT(footprint->constants_bytes, 0);
}

TEST_P(TwoPlaces, OutputGoesToTheCallersMemory) {
  const auto model = load();
  alignas(64) std::array<float, 10> memory = {};
  const sluice::RequestOptions options = {
      .outputs = {{"probabilities", std::as_writable_bytes(std::span(memory))}}};
  const auto reply = model.infer(image(), options);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->output<float>()->values.data(), memory.data());
  EXPECT_EQ(model.infer(image(2), options).error().code, Code::kResourceExhausted) << "too small";
}

TEST_P(TwoPlaces, SharedMemoryHasInputsAndOutputsInPlace) {
  const auto model = load();
  const auto shared = runtime_.share(1 << 20);
  ASSERT_TRUE(shared) << shared.error().message;
  EXPECT_EQ(shared->size_bytes(), std::size_t{1} << 20);
  constexpr std::int64_t kCount = 1000;  // 256 kB of images, more than a message of the daemon
  const auto images = shared->part<float>(0, kCount * 64);
  const auto answers = shared->part<float>(512 << 10, kCount * 10);
  std::fill(images.begin(), images.end(), 0.5F);
  const sluice::RequestOptions to_answers = {
      .outputs = {{"probabilities", std::as_writable_bytes(answers)}}};
  const auto inputs = {sluice::tensor<float>("image", images, {kCount, 1, 8, 8})};
  const auto reply = model.infer(inputs, to_answers);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->output<float>()->values.data(), answers.data());
  const auto one = model.infer(image());
  ASSERT_TRUE(one) << one.error().message;
  const auto expected = one->output<float>()->values;
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), answers.end() - 10,
                         [](float a, float b) { return std::abs(a - b) < 1e-5F; }));
  EXPECT_TRUE(model.submit(inputs)->wait()) << "of a stream";
}

TEST_P(TwoPlaces, EachTensorMayLieInSharedMemoryOrNot) {
  const auto model = load();
  auto shared = runtime_.share(4096);
  ASSERT_TRUE(shared) << shared.error().message;
  const auto pixels = shared->part<float>(64, 64);
  const auto answer = shared->part<float>(1024, 10);
  std::fill(pixels.begin(), pixels.end(), 0.5F);
  const auto from_shared = {sluice::tensor<float>("image", pixels, {1, 1, 8, 8})};
  const sluice::RequestOptions to_shared = {
      .outputs = {{"probabilities", std::as_writable_bytes(answer)}}};
  const auto input_only = model.infer(from_shared);
  const auto output_only = model.infer(image(), to_shared);
  ASSERT_TRUE(input_only && output_only);
  EXPECT_TRUE(std::ranges::equal(input_only->output<float>()->values, answer));
  EXPECT_EQ(model.infer(image(2), to_shared).error().code, Code::kResourceExhausted) << "too small";
  *shared = *runtime_.share(64);  // frees the first
  EXPECT_TRUE(model.infer(image()));
  EXPECT_EQ(runtime_.share(0).error().code, Code::kInvalidArgument);
  EXPECT_EQ(runtime_.share(-1).error().code, Code::kInvalidArgument);
}

TEST_P(TwoPlaces, WrongInputIsNamedWithWhatTheModelTakes) {
  const auto model = load();
  const std::vector<float> values(10);
  const auto shape = model.infer({sluice::tensor<float>("image", values, {1, 10})});
  EXPECT_EQ(shape.error().code, Code::kInvalidArgument);
  EXPECT_EQ(sluice_last_error_runtime_code(), SLUICE_RUNTIME_CODE_BAD_INPUT);
  EXPECT_THAT(shape.error().message, HasSubstr("got f32[1,10], model takes f32[N,1,8,8]"));
  EXPECT_THAT(model.infer({}).error().message, HasSubstr("input \"image\" is missing"));
}

TEST_P(TwoPlaces, SubmittedRequestsAreAnsweredInAnyOrderOfWaiting) {
  const auto model = load();
  std::vector<sluice::Request> requests;
  for (std::int64_t n = 1; n <= 16; ++n) {
    auto request = model.submit(image(n));
    ASSERT_TRUE(request) << request.error().message;
    requests.push_back(std::move(*request));
  }
  for (std::int64_t n = 16; n >= 1; --n) {
    const auto reply = requests[static_cast<std::size_t>(n - 1)].wait();
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->output<float>()->dims[0], n);
  }
}

TEST_P(TwoPlaces, CallbackGetsTheReplyAndMaySubmit) {
  const auto model = load();
  std::atomic<int> num_replies = 0;
  std::function<void(sluice::Expected<sluice::Reply>)> again = [&](auto reply) {
    EXPECT_TRUE(reply) << reply.error().message;
    if (num_replies.fetch_add(1) < 9) {
      EXPECT_FALSE(model.submit(image(), again));
    }
    num_replies.notify_all();
  };
  ASSERT_FALSE(model.submit(image(), again));
  for (int n = num_replies; n < 10; n = num_replies) num_replies.wait(n);
}

TEST_P(TwoPlaces, CancelledRequestsEndOnce) {
  const auto model = load({.path = digits(), .depth = 1});
  std::vector<sluice::Request> requests;
  for (int i = 0; i < 32; ++i) requests.push_back(std::move(*model.submit(image(64))));
  for (sluice::Request& request : requests) EXPECT_FALSE(request.cancel());
  for (sluice::Request& request : requests) {
    const auto reply = request.wait();
    if (!reply) {
      EXPECT_EQ(reply.error().code, Code::kCancelled) << reply.error().message;
    }
  }
}

TEST_P(TwoPlaces, CloseEndsRequestsInFlight) {
  const auto model = load({.path = digits(), .depth = 1});
  std::atomic<int> num_replies = 0;
  for (int i = 0; i < 40; ++i) {
    ASSERT_FALSE(model.submit(image(64), [&](sluice::Expected<sluice::Reply> reply) {
      if (!reply) {
        EXPECT_EQ(reply.error().code, Code::kCancelled) << reply.error().message;
      }
      ++num_replies;
    }));
  }
  EXPECT_FALSE(runtime_.close());
  EXPECT_EQ(num_replies, 40);
  EXPECT_EQ(model.infer(image()).error().code, Code::kFailedPrecondition);
}

TEST_P(TwoPlaces, ThreadsShareARuntime) {
  const auto model = load({.path = digits(), .depth = 2});
  std::vector<std::jthread> threads;
  for (std::int64_t n = 1; n <= 4; ++n) {
    threads.emplace_back([&, n] {
      for (int i = 0; i < 30; ++i) {
        const auto reply = model.infer(image(n));
        ASSERT_TRUE(reply) << reply.error().message;
        EXPECT_EQ(reply->output<float>()->dims[0], n);
      }
    });
  }
}

TEST_P(TwoPlaces, StatisticsCountRequestsAndTimes) {
  const auto model = load();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(model.infer(image()));
  EXPECT_FALSE(model.infer({}));
  const auto statistics = sluice::statistics_of(runtime_, model);
  ASSERT_TRUE(statistics) << statistics.error().message;
  EXPECT_EQ(statistics->accepted, 5);
  ASSERT_EQ(statistics->answered.size(), 1U);
  EXPECT_EQ(statistics->answered[0].runtime_code, SLUICE_RUNTIME_CODE_OK);
  EXPECT_EQ(statistics->answered[0].count, 5);
  EXPECT_EQ(statistics->total.count, 5);
  EXPECT_GE(statistics->total.p99_ns, statistics->total.p50_ns);
  EXPECT_GT(statistics->compute.sum_ns, 0);
  EXPECT_EQ(sluice::health_of(runtime_, model)->state, SLUICE_HEALTH_HEALTHY);
  const sluice_model_statistics* none = nullptr;
  EXPECT_EQ(sluice_runtime_statistics(runtime_.get(), 0, &none), SLUICE_NOT_FOUND);
}

TEST_P(TwoPlaces, ProfileHasTheSpansOfItsRequests) {
  const auto model = load({.path = digits(), .name = "digits"});
  auto profile = sluice::Profile::start(runtime_);
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_TRUE(model.infer(image()));
  EXPECT_FALSE(profile->stop());
  std::int64_t num_requests = 0;
  std::int64_t num_operations = 0;
  for (const sluice_span* span : profile->spans()) {
    EXPECT_STREQ(span->model, "digits");
    num_requests += span->kind == SLUICE_SPAN_REQUEST ? 1 : 0;
    num_operations += span->kind == SLUICE_SPAN_OPERATION ? 1 : 0;
    if (span->kind == SLUICE_SPAN_OPERATION) {
      EXPECT_STRNE(span->name, "");
    }
  }
  EXPECT_EQ(num_requests, 1);
  EXPECT_GT(num_operations, 0);
  EXPECT_TRUE(profile->stop());
}

TEST_P(TwoPlaces, UnloadedModelIsNotFound) {
  auto model = load();
  const std::uint64_t id = model.id();
  EXPECT_TRUE(model.infer(image()));
  EXPECT_FALSE(model.unload());
  EXPECT_EQ(sluice_runtime_start(runtime_.get(), id), SLUICE_NOT_FOUND);
  sluice_reply* reply = nullptr;
  const auto inputs = image();
  const sluice_named_array input = {
      "image", {inputs[0].data, inputs[0].size_bytes, 1, 4, inputs[0].dims.data()}};
  EXPECT_EQ(sluice_runtime_infer(runtime_.get(), id, &input, 1, nullptr, &reply), SLUICE_NOT_FOUND);
}

TEST(Connecting, AbsentDaemonIsUnavailable) {
  const auto runtime = sluice::Runtime::connect("unix:/tmp/no-sluiced-here.sock",
                                                {.timeout = std::chrono::milliseconds(50)});
  ASSERT_FALSE(runtime);
  EXPECT_EQ(runtime.error().code, Code::kUnavailable);
  EXPECT_THAT(runtime.error().message, HasSubstr("is sluiced running"));
  EXPECT_EQ(sluice::Runtime::connect("not an address").error().code, Code::kInvalidArgument);
}

TEST(Connecting, DaemonThatDiesEndsRequestsAsUnavailable) {
  const sluice::testing::TempDir folder;
  sluice::testing::DaemonProcess daemon(folder);
  auto runtime = sluice::Runtime::connect(daemon.address());
  ASSERT_TRUE(runtime) << runtime.error().message;
  auto model = runtime->load({.path = digits(), .depth = 1});
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_TRUE(model->submit(image())->wait()) << "a stream is open";
  daemon.suspend();
  std::vector<sluice::Request> requests;
  for (int i = 0; i < 20; ++i) requests.push_back(std::move(*model->submit(image())));
  // By then the reader of the ring has seen so many in flight that it naps between looks.
  EXPECT_FALSE(requests.front().wait_for(std::chrono::milliseconds(200)));
  daemon.end_abruptly();
  for (sluice::Request& request : requests) {
    EXPECT_EQ(request.wait().error().code, Code::kUnavailable);
  }
  EXPECT_EQ(model->infer(image()).error().code, Code::kUnavailable);
  EXPECT_FALSE(runtime->close());
}

TEST(Connecting, SessionTakesItsModelsAlong) {
  const sluice::testing::TempDir folder;
  sluice::testing::DaemonProcess daemon(folder);
  auto watcher = sluice::Runtime::connect(daemon.address(), {.is_detached = true});
  ASSERT_TRUE(watcher) << watcher.error().message;
  {
    auto runtime = sluice::Runtime::connect(daemon.address());
    auto model = runtime->load({.path = digits(), .name = "mine"});
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(watcher->models()->size(), 1U);
    EXPECT_FALSE(runtime->close());
  }
  EXPECT_TRUE(eventually([&] { return watcher->models()->empty(); }));
}

}  // namespace
