// Runtimes, groups, models and requests through the installed headers, on the plug-in `cpu`.
#include "sluice/runtime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/eventually.h"
#include "support/paths.h"

namespace {

using sluice::testing::eventually;
using ::testing::HasSubstr;

constexpr sluice::Code kCancelled = sluice::Code::kCancelled;
constexpr sluice::Code kInvalidArgument = sluice::Code::kInvalidArgument;
constexpr sluice::Code kDeadlineExceeded = sluice::Code::kDeadlineExceeded;
constexpr sluice::Code kNotFound = sluice::Code::kNotFound;
constexpr sluice::Code kFailedPrecondition = sluice::Code::kFailedPrecondition;

/// f32[N,1,8,8] to f32[N,10].
std::string digits() {
  return sluice::testing::source_path("tests/golden/package/format_1_0.sluice").string();
}

class RuntimeApi : public ::testing::Test {
 protected:
  RuntimeApi() : runtime_(create()) {}

  static sluice::Runtime create() {
    auto runtime = sluice::Runtime::create();
    EXPECT_TRUE(runtime) << runtime.error().message;
    return std::move(*runtime);
  }
  sluice::LoadedModel load(const sluice::LoadOptions& options = {.path = digits()}) {
    auto model = runtime_.load(options);
    EXPECT_TRUE(model) << model.error().message;
    return std::move(*model);
  }
  std::vector<sluice::InputTensor> image(std::int64_t n = 1) {
    return {sluice::tensor<float>(
        "image", std::span(pixels_).first(static_cast<std::size_t>(n) * 64), {n, 1, 8, 8})};
  }

  sluice::Runtime runtime_;
  std::vector<float> pixels_ = std::vector<float>(64 * 64, 0.5F);
};

TEST_F(RuntimeApi, DevicesHaveCores) {
  const auto devices = runtime_.devices();
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_FALSE(devices->empty());
  EXPECT_EQ(devices->front().kind, "cpu");
  EXPECT_GE(devices->front().num_cores, 1);
}

TEST_F(RuntimeApi, ModelOnItsOwnGroupAnswers) {
  const auto model = load();
  const auto info = model.info();
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->phase, SLUICE_MODEL_STARTED);
  EXPECT_TRUE(info->is_implicit);
  EXPECT_EQ(info->inputs.at(0).name, "image");
  EXPECT_EQ(info->inputs.at(0).type, "f32[N,1,8,8]");
  const auto reply = model.infer(image(3), {.wants_detail = true});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->runtime_code(), sluice::RuntimeCode::kOk);
  EXPECT_EQ(reply->output_name(0), "probabilities");
  const auto output = reply->output<float>();
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(output->dims, (std::vector<std::int64_t>{3, 10}));
  float sum = 0;
  for (const float p : output->values) sum += p;
  EXPECT_NEAR(sum, 3, 1e-4);
  ASSERT_NE(reply->detail(), nullptr);
  EXPECT_GT(reply->detail()->compute_ns, 0);
  EXPECT_STREQ(reply->detail()->backends[0], "cpu");
}

TEST_F(RuntimeApi, ExplicitGroupTakesTurnsBetweenItsModels) {
  auto group = runtime_.create_group({.num_cores = 1});
  ASSERT_TRUE(group) << group.error().message;
  auto first = load({.path = digits(), .name = "first", .group = group->id()});
  auto second = load({.path = digits(), .name = "second", .group = group->id()});
  EXPECT_EQ(first.infer(image()).error().code, kFailedPrecondition) << "not started";
  EXPECT_FALSE(first.start());
  EXPECT_TRUE(first.infer(image()));
  EXPECT_EQ(second.start()->code, kFailedPrecondition);
  EXPECT_FALSE(first.stop());
  EXPECT_FALSE(second.start());
  EXPECT_TRUE(second.infer(image()));
  const auto groups = runtime_.groups();
  ASSERT_TRUE(groups);
  ASSERT_EQ(groups->size(), 1U);
  EXPECT_EQ(groups->front().num_models, 2);
  EXPECT_EQ(groups->front().active_model, "second");
  EXPECT_EQ(sluice_runtime_destroy_group(runtime_.get(), group->id()), SLUICE_FAILED_PRECONDITION);
}

TEST_F(RuntimeApi, PackageComesFromMemoryAndFileDescriptor) {
  std::FILE* file = std::fopen(digits().c_str(), "rb");
  ASSERT_NE(file, nullptr);
  std::vector<std::byte> bytes(1 << 20);
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  EXPECT_TRUE(load({.fd = fileno(file), .name = "fd"}).infer(image()));
  std::fclose(file);
  EXPECT_TRUE(load({.package = bytes, .name = "bytes"}).infer(image()));
  EXPECT_EQ(runtime_.load({.path = digits(), .package = bytes}).error().code, kInvalidArgument);
  bytes.resize(bytes.size() / 2);
  EXPECT_FALSE(runtime_.load({.package = bytes}));
}

TEST_F(RuntimeApi, OutputGoesToTheCallersMemory) {
  const auto model = load();
  alignas(64) std::array<float, 10> memory = {};
  const auto reply = model.infer(
      image(), {.outputs = {{"probabilities", std::as_writable_bytes(std::span(memory))}}});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->output<float>()->values.data(), memory.data());
  EXPECT_GT(memory[0] + memory[1] + memory[2] + memory[3] + memory[4], 0);
}

TEST_F(RuntimeApi, WrongInputIsNamedWithWhatTheModelTakes) {
  const auto model = load();
  const auto shape = model.infer({sluice::tensor<float>("image", pixels_, {1, 4096})});
  EXPECT_EQ(shape.error().code, kInvalidArgument);
  EXPECT_THAT(shape.error().message,
              HasSubstr("input \"image\": got f32[1,4096], model takes f32[N,1,8,8]"));
  const auto name = model.infer({sluice::tensor<float>("picture", pixels_, {64, 1, 8, 8})});
  EXPECT_EQ(sluice_last_error_runtime_code(), SLUICE_RUNTIME_CODE_BAD_INPUT);
  EXPECT_THAT(name.error().message, HasSubstr("no input picture; it has \"image\""));
  EXPECT_THAT(model.infer({}).error().message, HasSubstr("input \"image\" is missing"));
  EXPECT_STREQ(sluice_last_error_remedy(),
               "Send what the model's signature says, and values that its operators take.");
}

TEST_F(RuntimeApi, SubmittedRequestsAreAnsweredInAnyOrderOfWaiting) {
  const auto model = load();
  std::vector<sluice::Request> requests;
  for (std::int64_t n = 1; n <= 8; ++n) {
    auto request = model.submit(image(n));
    ASSERT_TRUE(request) << request.error().message;
    requests.push_back(std::move(*request));
  }
  for (std::int64_t n = 8; n >= 1; --n) {
    const auto reply = requests[static_cast<std::size_t>(n - 1)].wait();
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->output<float>()->dims[0], n);
  }
}

TEST_F(RuntimeApi, ReplyIsTakenOnce) {
  const auto model = load();
  auto request = model.submit(image());
  ASSERT_TRUE(request);
  const std::uint64_t id = request->id();
  EXPECT_TRUE(request->wait());
  sluice_reply* reply = nullptr;
  EXPECT_EQ(sluice_runtime_poll(runtime_.get(), id, &reply), SLUICE_NOT_FOUND);
  EXPECT_EQ(sluice_runtime_cancel(runtime_.get(), id), SLUICE_NOT_FOUND);
  EXPECT_EQ(sluice_last_error_runtime_code(), SLUICE_RUNTIME_CODE_INVALID_HANDLE);
}

TEST_F(RuntimeApi, WaitWithoutTimeDoesNotRunTheRequest) {
  const auto model = load();
  const std::vector<float> pixels(std::size_t{64} * 50'000, 0.5F);  // takes tens of milliseconds
  // A busy machine may answer a request before the wait begins, but not every request.
  bool was_pending = false;
  for (int i = 0; i < 50 && !was_pending; ++i) {
    auto request = model.submit({sluice::tensor<float>("image", pixels, {50'000, 1, 8, 8})});
    ASSERT_TRUE(request) << request.error().message;
    if (request->wait_for(sluice::Nanoseconds(0))) continue;
    was_pending = true;
    EXPECT_EQ(sluice_last_error_runtime_code(), SLUICE_RUNTIME_CODE_PENDING);
    EXPECT_TRUE(request->wait());
  }
  EXPECT_TRUE(was_pending);
}

TEST_F(RuntimeApi, CancelledRequestEndsOnce) {
  const auto model = load({.path = digits(), .depth = 1});
  std::vector<sluice::Request> requests;
  for (int i = 0; i < 32; ++i) requests.push_back(std::move(*model.submit(image(64))));
  EXPECT_FALSE(requests.back().cancel());
  for (sluice::Request& request : requests) {
    const auto reply = request.wait();
    if (!reply) {
      EXPECT_EQ(reply.error().code, kCancelled) << reply.error().message;
    }
  }
}

TEST_F(RuntimeApi, ExpiredRequestHasItsOwnStatus) {
  const auto model = load();
  const auto reply = model.infer(image(64), {.timeout = sluice::Nanoseconds(1)});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, kDeadlineExceeded) << reply.error().message;
}

TEST_F(RuntimeApi, CallbackGetsTheReplyAndMaySubmit) {
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

TEST_F(RuntimeApi, BlockingCallsInACallbackAreRefused) {
  const auto model = load();
  std::atomic<int> done = 0;
  std::array<sluice::Code, 6> codes = {};
  ASSERT_FALSE(model.submit(image(), [&](sluice::Expected<sluice::Reply>) {
    codes[0] = model.infer(image()).error().code;
    codes[1] = sluice::Code(sluice_runtime_close(runtime_.get(), 0));
    codes[2] = sluice::Code(sluice_runtime_unload(runtime_.get(), model.id(), 0));
    // About a posted request, which a daemon has, as its id says.
    constexpr std::uint64_t kPosted = std::uint64_t{6} << 29;
    sluice_request_options options = {};
    options.struct_size = sizeof(options);
    options.is_posted = 1;
    std::uint64_t request = 0;
    sluice_reply* reply = nullptr;
    codes[3] = sluice::Code(
        sluice_runtime_submit(runtime_.get(), model.id(), nullptr, 0, &options, &request));
    codes[4] = sluice::Code(sluice_runtime_poll(runtime_.get(), kPosted, &reply));
    codes[5] = sluice::Code(sluice_runtime_cancel(runtime_.get(), kPosted));
    done = 1;
    done.notify_all();
  }));
  done.wait(0);
  EXPECT_THAT(codes, ::testing::Each(kFailedPrecondition));
  EXPECT_TRUE(model.infer(image())) << "the runtime is as it was";
}

TEST_F(RuntimeApi, ExceptionOfACallbackIsDropped) {
  const auto model = load();
  std::atomic<int> called = 0;
  ASSERT_FALSE(model.submit(image(), [&](sluice::Expected<sluice::Reply>) {
    called = 1;
    called.notify_all();
    throw std::runtime_error("of the user");
  }));
  called.wait(0);
  EXPECT_TRUE(model.infer(image()));
}

TEST_F(RuntimeApi, CloseEndsRequestsInFlightAndLaterCallsFail) {
  const auto model = load({.path = digits(), .depth = 1});
  std::atomic<int> num_replies = 0;
  for (int i = 0; i < 40; ++i) {
    ASSERT_FALSE(model.submit(image(64), [&](sluice::Expected<sluice::Reply> reply) {
      if (!reply) {
        EXPECT_EQ(reply.error().code, kCancelled);
      }
      ++num_replies;
    }));
  }
  EXPECT_FALSE(runtime_.close());
  EXPECT_EQ(num_replies, 40);
  EXPECT_EQ(model.infer(image()).error().code, kFailedPrecondition);
  EXPECT_EQ(runtime_.devices().error().code, kFailedPrecondition);
  EXPECT_EQ(runtime_.close()->code, kFailedPrecondition);
  EXPECT_THAT(sluice_last_error(), HasSubstr("the runtime is closed"));
}

TEST_F(RuntimeApi, CloseWaitsForCallsOfOtherThreads) {
  const auto model = load();
  std::atomic<bool> has_begun = false;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (;;) {
        const auto reply = model.infer(image(8));
        has_begun = true;
        if (!reply) {
          EXPECT_THAT(reply.error().code,
                      testing::AnyOf(kCancelled, kFailedPrecondition, kNotFound))
              << reply.error().message;
          if (reply.error().code == kFailedPrecondition) return;
        }
      }
    });
  }
  EXPECT_TRUE(eventually([&] { return has_begun.load(); }));
  EXPECT_FALSE(runtime_.close());
}

TEST_F(RuntimeApi, ReplyOutlivesTheRuntime) {
  auto reply = load().infer(image());
  ASSERT_TRUE(reply);
  EXPECT_FALSE(runtime_.close());
  EXPECT_EQ(reply->output<float>()->values.size(), 10U);
}

TEST_F(RuntimeApi, UnloadedModelIsNotFound) {
  auto model = load();
  const std::uint64_t id = model.id();
  EXPECT_FALSE(model.unload());
  EXPECT_EQ(sluice_runtime_start(runtime_.get(), id), SLUICE_NOT_FOUND);
  sluice_reply* reply = nullptr;
  EXPECT_EQ(sluice_runtime_infer(runtime_.get(), id, nullptr, 0, nullptr, &reply),
            SLUICE_NOT_FOUND);
  EXPECT_EQ(reply, nullptr);
}

TEST_F(RuntimeApi, ModelOnDemandIsLoadedByItsFirstRequest) {
  auto model = load({.path = digits(), .name = "lazy", .is_on_demand = true});
  EXPECT_EQ(model.info()->phase, SLUICE_MODEL_UNLOADED);
  EXPECT_EQ(model.info()->inputs.at(0).name, "image");
  EXPECT_TRUE(model.infer(image()));
  EXPECT_EQ(model.info()->phase, SLUICE_MODEL_STARTED);
  EXPECT_EQ(runtime_.models()->size(), 1U);
  EXPECT_TRUE(model.submit(image())->wait());
  EXPECT_FALSE(model.unload());
  EXPECT_TRUE(runtime_.models()->empty());
}

TEST_F(RuntimeApi, MoreModelsOnDemandThanCores) {
  std::vector<sluice::LoadedModel> models;
  for (int i = 0; i < 6; ++i) {
    models.push_back(
        load({.path = digits(), .name = "m" + std::to_string(i), .is_on_demand = true}));
  }
  for (int round = 0; round < 2; ++round) {
    for (const auto& model : models) {
      const auto reply = model.infer(image());
      EXPECT_TRUE(reply) << reply.error().message;
    }
  }
}

TEST_F(RuntimeApi, ModelsTakeTurnsWhereAllCoresAreInUse) {
  std::size_t num_cores = 0;
  for (const sluice::DeviceInfo& device : *runtime_.devices()) {
    num_cores += static_cast<std::size_t>(device.num_cores);
  }
  std::vector<sluice::LoadedModel> models;
  for (std::size_t i = 0; i < 2 * num_cores + 1; ++i) {
    auto model = runtime_.load({.path = digits(), .name = "m" + std::to_string(i)});
    ASSERT_TRUE(model) << i << " of " << num_cores << " cores: " << model.error().message;
    models.push_back(std::move(*model));
  }
  EXPECT_LE(runtime_.groups()->size(), num_cores);
  for (const auto& model : models) {
    EXPECT_EQ(model.info()->phase, SLUICE_MODEL_STARTED);
    const auto reply = model.infer(image());
    EXPECT_TRUE(reply) << reply.error().message;
  }
}

TEST_F(RuntimeApi, FootprintIsKnownBeforeTheLoad) {
  const auto footprint = runtime_.estimate({.path = digits()});
  ASSERT_TRUE(footprint) << footprint.error().message;
  EXPECT_GT(footprint->constants_bytes, 0);
  EXPECT_TRUE(runtime_.models()->empty());
}

TEST_F(RuntimeApi, ModelIsFoundByName) {
  const auto model = load({.path = digits(), .name = "digits"});
  const auto found = runtime_.find_model("digits");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->id(), model.id());
  EXPECT_THAT(runtime_.find_model("none").error().message, HasSubstr("loaded are: \"digits\""));
}

TEST_F(RuntimeApi, ChildOfAForkHasNoRuntime) {
  const auto model = load();
  ASSERT_TRUE(model.infer(image()));
  const pid_t child = fork();
  if (child == 0) {
    const bool is_refused = sluice_runtime_close(runtime_.get(), 0) == SLUICE_FAILED_PRECONDITION;
    _exit(is_refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(model.infer(image()));
}

TEST(RuntimeApiErrors, NullAndUnknownHandlesAreRefused) {
  std::uint64_t id = 0;
  sluice_reply* reply = nullptr;
  EXPECT_EQ(sluice_runtime_create(nullptr, nullptr), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_runtime_load(nullptr, nullptr, &id), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_runtime_infer(nullptr, 1, nullptr, 0, nullptr, &reply), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_runtime_close(nullptr, 0), SLUICE_OK);
  sluice_reply_free(nullptr);
  sluice_release(nullptr);
  EXPECT_EQ(sluice_reply_num_outputs(nullptr), 0U);
  EXPECT_EQ(sluice_reply_output(nullptr, nullptr, nullptr), SLUICE_INVALID_ARGUMENT);
}

TEST_F(RuntimeApi, BadArgumentsAreRefused) {
  std::uint64_t id = 0;
  EXPECT_EQ(sluice_runtime_load(runtime_.get(), nullptr, &id), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_runtime_load(runtime_.get(), nullptr, nullptr), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(runtime_.load({.path = digits(), .group = 77}).error().code, kNotFound);
  EXPECT_EQ(runtime_.load({.path = digits(), .group = ~0ULL}).error().code, kNotFound);
  EXPECT_EQ(runtime_.load({.path = "/no/such.sluice"}).error().code, kNotFound);
  EXPECT_EQ(runtime_.load({.path = digits(), .nan_policy = 9}).error().code, kInvalidArgument);
  EXPECT_EQ(runtime_.create_group({.num_cores = -1}).error().code, kInvalidArgument);
  EXPECT_EQ(sluice_runtime_destroy_group(runtime_.get(), ~0ULL), SLUICE_NOT_FOUND);
  EXPECT_EQ(sluice_runtime_cancel(runtime_.get(), 12345), SLUICE_NOT_FOUND);
  const sluice_device_list* list = nullptr;
  ASSERT_EQ(sluice_runtime_devices(runtime_.get(), &list), SLUICE_OK);
  sluice_release(list);
  sluice_release(list);  // ignored
}

TEST_F(RuntimeApi, OptionsOfALoadAreSetByName) {
  sluice_load_options options = {};
  options.struct_size = sizeof(options);
  EXPECT_EQ(sluice_set_load_option(&options, "queue_limit", 7), SLUICE_OK);
  EXPECT_EQ(options.queue_limit, 7);
  EXPECT_EQ(sluice_set_load_option(&options, "max_run_ns", std::int64_t{1} << 40), SLUICE_OK);
  EXPECT_EQ(options.max_run_ns, std::int64_t{1} << 40);
  EXPECT_EQ(sluice_set_load_option(&options, "depth", std::int64_t{1} << 40),
            SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(options.depth, 0) << "as before";
  EXPECT_EQ(sluice_set_load_option(&options, "width", 1), SLUICE_NOT_FOUND);
  EXPECT_EQ(sluice_set_load_option(&options, nullptr, 1), SLUICE_INVALID_ARGUMENT);
  EXPECT_EQ(sluice_set_load_option(nullptr, "depth", 1), SLUICE_INVALID_ARGUMENT);
  options.struct_size = offsetof(sluice_load_options, weight);  // of an older program
  EXPECT_EQ(sluice_set_load_option(&options, "weight", 3), SLUICE_NOT_FOUND);
  EXPECT_EQ(options.weight, 0);
}

TEST_F(RuntimeApi, WeightOfALoadIsInItsRange) {
  EXPECT_TRUE(runtime_.load({.path = digits(), .weight = 1000}));
  EXPECT_EQ(runtime_.load({.path = digits(), .weight = 1001}).error().code, kInvalidArgument);
  EXPECT_EQ(runtime_.load({.path = digits(), .weight = -1}).error().code, kInvalidArgument);
}

TEST_F(RuntimeApi, ShorterStructOfAnOlderProgramIsRead) {
  const std::string path = digits();
  sluice_load_options options = {};
  options.struct_size = offsetof(sluice_load_options, name);
  options.path = path.c_str();
  options.depth = 1 << 30;  // past the end: not read
  std::uint64_t model = 0;
  EXPECT_EQ(sluice_runtime_load(runtime_.get(), &options, &model), SLUICE_OK)
      << sluice_last_error();
}

}  // namespace
