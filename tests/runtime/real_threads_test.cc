// The engine with the threads that a daemon uses, computing on the host's processors: claims of
// docs/seed-coverage that are about what happens while an inference computes.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "base/system/processor.h"
#include "exec/testing/exec_testing.h"
#include "runtime/engine.h"
#include "runtime/inference/thread_driver.h"
#include "runtime/testing/engine_testing.h"

namespace sluice::runtime {
namespace {

using ::testing::Each;
using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kWidth = 256;
constexpr int kLayers = 24;
/// An inference takes milliseconds, so the calling thread almost always comes back before its end;
/// a machine under load may hold the caller up, and then it tries again.
constexpr int kTries = 100;

/// Products of x with matrices of 1/256 in a row. An x of equal elements stays as it is, exactly.
std::shared_ptr<const package::Executable> slow_identity() {
  std::string text = fmt::format("subgraph @0 \"main\" {{\n  input %x0 : f32[{0},{0}]\n", kWidth);
  text += fmt::format("  const %w : f32[{0},{0}] = splat {1}\n", kWidth, 1.0 / kWidth);
  for (int i = 0; i < kLayers; ++i) {
    text += fmt::format("  [%x{} : f32[{}, {}]] = MatMul.13[%x{}, %w]\n", i + 1, kWidth, kWidth, i);
  }
  text += fmt::format("  output [%x{}]\n}}\n", kLayers);
  return std::make_shared<const package::Executable>(exec::testing::executable_of(text, "cpu"));
}

/// The same in two segments of a core each.
std::shared_ptr<const package::Executable> slow_identity_in_two() {
  package::Executable executable = *slow_identity();
  executable.segments = {{"first", 0, 1}, {"second", kLayers / 2, 1}};
  return std::make_shared<const package::Executable>(std::move(executable));
}

Request slow_request(float value) {
  const std::vector<float> values(kWidth * kWidth, value);
  auto memory =
      std::make_shared<MutableBytes>(MutableBytes::copy_of(std::as_bytes(std::span(values))));
  Request request;
  request.inputs = {
      {memory->view().data(), kWidth * kWidth * 4, ir::ElementType::kF32, {kWidth, kWidth}}};
  request.memory_owner = std::move(memory);
  return request;
}

std::int64_t end_of(const terms::ProfileSpan& span) { return span.start_ns + span.duration_ns; }

std::vector<terms::ProfileSpan> compute_spans(const terms::Profile& profile) {
  std::vector<terms::ProfileSpan> spans;
  for (const terms::ProfileSpan& span : profile.spans) {
    if (span.kind == terms::SpanKind::kCompute) spans.push_back(span);
  }
  return spans;
}

/// Nanoseconds in which spans of lane 0 and of lane 1 overlap.
std::int64_t overlap_of_lanes(const std::vector<terms::ProfileSpan>& spans) {
  std::int64_t overlap_ns = 0;
  for (const terms::ProfileSpan& a : spans) {
    for (const terms::ProfileSpan& b : spans) {
      if (a.lane != 0 || b.lane != 1) continue;
      const std::int64_t end_ns = std::min(end_of(a), end_of(b));
      overlap_ns += std::max<std::int64_t>(end_ns - std::max(a.start_ns, b.start_ns), 0);
    }
  }
  return overlap_ns;
}

class RealThreads : public ::testing::Test {
 protected:
  terms::ModelHandle load(std::shared_ptr<const package::Executable> executable) {
    const auto handle = engine_.load(load_of(std::move(executable)));
    EXPECT_TRUE(handle.is_ok()) << handle.status().to_string();
    return handle.is_ok() ? *handle : terms::ModelHandle{};
  }
  Cookie post(terms::ModelHandle model, float value) {
    Request request = slow_request(value);
    const auto cookie = engine_.post(model, request);
    EXPECT_TRUE(cookie.is_ok()) << cookie.status().to_string();
    return cookie.is_ok() ? *cookie : Cookie{};
  }
  bool is_pending(Cookie cookie) { return engine_.completed(std::vector{cookie}).empty(); }
  void expect_answer(Cookie cookie, float value) {
    const Reply reply = engine_.wait(cookie, kNoDeadline);
    ASSERT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
    EXPECT_THAT(floats(reply.outputs.at(0)), Each(value));
  }

  explicit RealThreads(topology::DeviceMap map = pretended_cpu_map(4))
      : engine_(registry(), drivers_, {std::move(map)}) {}

  ThreadDrivers drivers_;
  TestEngine engine_;
};

/// A processor for each core: segments share a lane where they share a processor.
class RealProcessors : public RealThreads {
 protected:
  RealProcessors() : RealThreads(cpu_map(2)) {}
};

TEST_F(RealProcessors, ThreadThatInheritedACoreLoadsOnTheOthers) {
  if (cpu_map(2).devices[0].num_cores < 2) GTEST_SKIP() << "needs two processors";
  std::thread([this] {
    stay_on(std::vector<std::int32_t>{process_cpus().front()});
    std::thread([this] {
      for (const float value : {1.0F, 2.0F})
        expect_answer(post(load(slow_identity()), value), value);
    }).join();
  }).join();
}

TEST_F(RealThreads, PostReturnsWhileTheInferenceComputes) {
  const terms::ModelHandle model = load(slow_identity());
  std::set<Cookie> cookies;
  bool was_pending = false;
  for (int i = 0; i < kTries && !was_pending; ++i) {
    const Cookie cookie = post(model, 3);
    was_pending = is_pending(cookie);
    EXPECT_TRUE(cookies.insert(cookie).second) << "a cookie is never given twice";
    expect_answer(cookie, 3);
  }
  EXPECT_TRUE(was_pending) << "post waits for the inference";
}

TEST_F(RealThreads, NextRequestsAreTakenBeforeTheFirstIsDone) {
  const terms::ModelHandle model = load(slow_identity());  // depth 2
  bool was_pending = false;
  for (int i = 0; i < kTries && !was_pending; ++i) {
    const Cookie first = post(model, 1);
    const Cookie second = post(model, 2);
    was_pending = is_pending(first);
    expect_answer(second, 2);
    expect_answer(first, 1);
  }
  EXPECT_TRUE(was_pending) << "the second request waits for the end of the first";
}

TEST_F(RealThreads, ModelsOnDifferentGroupsComputeAtTheSameTime) {
  const terms::ModelHandle left = load(slow_identity());
  const terms::ModelHandle right = load(slow_identity());
  bool overlapped = false;
  for (int i = 0; i < kTries && !overlapped; ++i) {
    const auto profile = engine_.start_profile({}).value();
    const Cookie a = post(left, 1);
    const Cookie b = post(right, 2);
    expect_answer(a, 1);
    expect_answer(b, 2);
    const auto spans = compute_spans(engine_.stop_profile(profile).value());
    ASSERT_EQ(spans.size(), 2U);
    ASSERT_NE(spans[0].model, spans[1].model);
    overlapped = spans[0].start_ns < end_of(spans[1]) && spans[1].start_ns < end_of(spans[0]);
  }
  EXPECT_TRUE(overlapped) << "one group waits for the other";
}

TEST_F(RealProcessors, PipelinedRequestsPassTheSegmentsInOrder) {
  constexpr int kRounds = 3;
  if (engine_.num_free_cores() < 2) GTEST_SKIP() << "this process may use one processor only";
  const terms::ModelHandle model = load(slow_identity_in_two());
  const terms::ModelInfo info = engine_.info(model).value();
  EXPECT_EQ(info.mode, terms::LoadMode::kNormal);
  ASSERT_EQ(info.depth, 3) << "two cores and one more";
  const auto profile = engine_.start_profile({}).value();
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Cookie> cookies;
    for (int i = 0; i < info.depth; ++i) cookies.push_back(post(model, static_cast<float>(i)));
    for (int i = info.depth - 1; i >= 0; --i) {
      expect_answer(cookies[static_cast<std::size_t>(i)], static_cast<float>(i));
    }
  }
  std::map<std::uint64_t, std::vector<terms::ProfileSpan>> of_request;
  for (const auto& span : compute_spans(engine_.stop_profile(profile).value())) {
    of_request[span.request].push_back(span);
  }
  ASSERT_EQ(of_request.size(), static_cast<std::size_t>(kRounds * info.depth));
  for (const auto& [request, spans] : of_request) {
    ASSERT_EQ(spans.size(), 2U) << "request " << request;
    EXPECT_LT(spans[0].lane, spans[1].lane) << "request " << request;
    EXPECT_LE(end_of(spans[0]), spans[1].start_ns) << "request " << request;
  }
}

TEST_F(RealProcessors, SegmentsOfOneModelComputeAtTheSameTime) {
  if (engine_.num_free_cores() < 2) GTEST_SKIP() << "this process may use one processor only";
  const terms::ModelHandle model = load(slow_identity_in_two());
  std::int64_t overlap_ns = 0;
  for (int i = 0; i < kTries && overlap_ns == 0; ++i) {
    const auto profile = engine_.start_profile({}).value();
    const Cookie first = post(model, 1);
    const Cookie second = post(model, 2);
    const Cookie third = post(model, 3);
    expect_answer(third, 3);
    expect_answer(second, 2);
    expect_answer(first, 1);
    overlap_ns = overlap_of_lanes(compute_spans(engine_.stop_profile(profile).value()));
  }
  EXPECT_GT(overlap_ns, 0) << "the second segment waits for the first one of the next request";
}

TEST_F(RealProcessors, StopAnswersRequestsWhileTheirSegmentsRun) {
  if (engine_.num_free_cores() < 2) GTEST_SKIP() << "this process may use one processor only";
  const terms::ModelHandle model = load(slow_identity_in_two());
  for (int round = 0; round < 3; ++round) {
    std::vector<Cookie> cookies;
    for (int i = 0; i < 5; ++i) cookies.push_back(post(model, static_cast<float>(i)));
    ASSERT_TRUE(engine_.cancel(cookies[1]).is_ok());
    ASSERT_TRUE(engine_.stop(model, /*drain_deadline_ns=*/0).is_ok());
    for (const Cookie cookie : cookies) {
      EXPECT_THAT(engine_.wait(cookie, kNoDeadline).code,
                  ::testing::AnyOf(RuntimeCode::kOk, RuntimeCode::kCancelled));
    }
    ASSERT_TRUE(engine_.start(model).is_ok());
    expect_answer(post(model, 7), 7);
  }
  EXPECT_TRUE(engine_.unload(model).is_ok());
}

TEST_F(RealThreads, GroupWithoutANumberTakesTheLongestFreeRun) {
  terms::CoreRequest second_core;
  second_core.num_cores = 1;
  second_core.first = terms::CoreRef{terms::DeviceId(0), 1};
  ASSERT_TRUE(engine_.create_group(second_core).is_ok());  // leaves core 0, and cores 2 and 3
  const auto group = engine_.create_group({});
  ASSERT_TRUE(group.is_ok()) << group.status().to_string();
  std::vector<std::int32_t> cores;
  for (const terms::GroupInfo& info : engine_.list_groups()) {
    if (info.id != *group) continue;
    for (const terms::CoreRef& core : info.cores) cores.push_back(core.core);
  }
  EXPECT_THAT(cores, ::testing::ElementsAre(2, 3)) << "the list tells which cores it got";
  EXPECT_EQ(engine_.num_free_cores(), 1);
  LoadRequest request = load_of(slow_identity_in_two());
  request.group = *group;
  const auto model = engine_.load(request);
  ASSERT_TRUE(model.is_ok()) << model.status().to_string();
  EXPECT_EQ(engine_.info(*model)->mode, terms::LoadMode::kNormal) << "a core for each segment";
  ASSERT_TRUE(engine_.start(*model).is_ok());
  expect_answer(post(*model, 5), 5);
}

}  // namespace
}  // namespace sluice::runtime
