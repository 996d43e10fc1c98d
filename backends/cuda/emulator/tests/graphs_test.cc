// Captures and graphs.

#include "emulator/testing/emulator_test.h"

namespace sluice::cuda::emulator {
namespace {

class GraphsTest : public EmulatorTest {
 protected:
  /// Starts a capture in a new stream.
  CuStream capture(CuCaptureMode mode = CuCaptureMode::kGlobal) {
    const CuStream stream = make_stream();
    EXPECT_EQ(cu_.stream_begin_capture(stream, mode), CuResult::kSuccess);
    return stream;
  }
  /// Starts one whose work goes on in `side`.
  CuStream capture_in_two(CuStream side) {
    const CuDevicePointer number = make_int(0);
    const CuStream origin = capture();
    const CuEvent fork = make_event();
    EXPECT_EQ(cu_.event_record(fork, origin), CuResult::kSuccess);
    EXPECT_EQ(cu_.stream_wait_event(side, fork, 0), CuResult::kSuccess);
    EXPECT_EQ(launch("add", {number, 1}, side), CuResult::kSuccess);
    return origin;
  }
  CuGraphExec finish(CuStream stream) {
    CuGraph graph = nullptr;
    CuGraphExec exec = nullptr;
    EXPECT_EQ(cu_.stream_end_capture(stream, &graph), CuResult::kSuccess);
    EXPECT_EQ(cu_.graph_instantiate_with_flags(&exec, graph, 0), CuResult::kSuccess);
    EXPECT_EQ(cu_.graph_destroy(graph), CuResult::kSuccess);
    return exec;
  }
  CuResult end(CuStream stream) {
    CuGraph graph = nullptr;
    return cu_.stream_end_capture(stream, &graph);
  }
};

TEST_F(GraphsTest, CapturedWorkRunsAtEachLaunchAndNotBefore) {
  start();
  const CuDevicePointer number = make_int(0);
  const CuStream stream = capture();
  EXPECT_EQ(launch("add", {number, 1}, stream), CuResult::kSuccess);
  EXPECT_EQ(launch("add", {number, 10}, stream), CuResult::kSuccess);
  const CuGraphExec exec = finish(stream);
  EXPECT_EQ(read_int(number), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cu_.graph_launch(exec, stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kSuccess);
  EXPECT_EQ(read_int(number), 33);
}

TEST_F(GraphsTest, EventsOfOtherStreamsBecomeEdges) {
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    start_with_seed(seed);
    const CuDevicePointer number = make_int(0);
    const CuStream origin = capture();
    const CuStream side = make_stream();
    const CuEvent fork = make_event();
    const CuEvent join = make_event();
    EXPECT_EQ(cu_.memset_d32_async(number, 5, 1, origin), CuResult::kSuccess);
    EXPECT_EQ(cu_.event_record(fork, origin), CuResult::kSuccess);
    EXPECT_EQ(cu_.stream_wait_event(side, fork, 0), CuResult::kSuccess);
    EXPECT_EQ(launch("add", {number, 1}, side), CuResult::kSuccess);
    EXPECT_EQ(cu_.event_record(join, side), CuResult::kSuccess);
    EXPECT_EQ(cu_.stream_wait_event(origin, join, 0), CuResult::kSuccess);
    EXPECT_EQ(cu_.memcpy_dtod_async(number, number, 4, origin), CuResult::kSuccess);
    EXPECT_EQ(cu_.graph_launch(finish(origin), origin), CuResult::kSuccess);
    EXPECT_EQ(cu_.stream_synchronize(origin), CuResult::kSuccess);
    EXPECT_EQ(read_int(number), 6);
  }
}

TEST_F(GraphsTest, BranchesWithoutAnEdgeRunInAnyOrder) {
  std::set<int> seen;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    start_with_seed(seed);
    const CuDevicePointer number = make_int(0);
    const CuStream origin = capture();
    const CuStream side = make_stream();
    const CuEvent fork = make_event();
    const CuEvent join = make_event();
    EXPECT_EQ(cu_.event_record(fork, origin), CuResult::kSuccess);
    EXPECT_EQ(cu_.stream_wait_event(side, fork, 0), CuResult::kSuccess);
    EXPECT_EQ(cu_.memset_d32_async(number, 1, 1, side), CuResult::kSuccess);
    EXPECT_EQ(cu_.memset_d32_async(number, 2, 1, origin), CuResult::kSuccess);  // a race
    EXPECT_EQ(cu_.event_record(join, side), CuResult::kSuccess);
    EXPECT_EQ(cu_.stream_wait_event(origin, join, 0), CuResult::kSuccess);
    EXPECT_EQ(launch("add", {number, 0}, origin), CuResult::kSuccess);
    EXPECT_EQ(cu_.graph_launch(finish(origin), origin), CuResult::kSuccess);
    EXPECT_EQ(cu_.stream_synchronize(origin), CuResult::kSuccess);
    seen.insert(read_int(number));
  }
  EXPECT_THAT(seen, ::testing::ElementsAre(1, 2));
}

TEST_F(GraphsTest, UnjoinedStreamFailsTheEnd) {
  start();
  const CuStream side = make_stream();
  const CuStream origin = capture_in_two(side);
  EXPECT_EQ(end(origin), CuResult::kCaptureUnjoined);
  EXPECT_EQ(cu_.stream_synchronize(side), CuResult::kSuccess);  // no stream is captured any more
}

TEST_F(GraphsTest, EndInAnotherStreamEndsTheCapture) {
  start();
  const CuStream side = make_stream();
  const CuStream origin = capture_in_two(side);
  EXPECT_EQ(end(side), CuResult::kCaptureUnmatched);
  EXPECT_EQ(end(origin), CuResult::kCaptureInvalidated);
}

TEST_F(GraphsTest, CapturedStreamIsNotCapturedAgain) {
  start();
  const CuStream stream = capture();
  EXPECT_EQ(cu_.stream_begin_capture(stream, CuCaptureMode::kGlobal), CuResult::kIllegalState);
  EXPECT_EQ(end(stream), CuResult::kSuccess);
}

TEST_F(GraphsTest, WaitingForACapturedStreamEndsTheCapture) {
  start();
  const CuStream stream = capture();
  CuCaptureStatus status = CuCaptureStatus::kNone;
  EXPECT_EQ(cu_.stream_is_capturing(stream, &status), CuResult::kSuccess);
  EXPECT_EQ(status, CuCaptureStatus::kActive);
  EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kCaptureUnsupported);
  EXPECT_EQ(cu_.stream_is_capturing(stream, &status), CuResult::kSuccess);
  EXPECT_EQ(status, CuCaptureStatus::kInvalidated);
  EXPECT_EQ(end(stream), CuResult::kCaptureInvalidated);
  EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kSuccess);
}

TEST_F(GraphsTest, AllocationDuringAGlobalCaptureIsForbidden) {
  start();
  CuDevicePointer address = 0;
  const CuStream relaxed = capture(CuCaptureMode::kRelaxed);
  EXPECT_EQ(cu_.mem_alloc(&address, 4), CuResult::kSuccess);
  EXPECT_EQ(end(relaxed), CuResult::kSuccess);
  const CuStream global = capture(CuCaptureMode::kGlobal);
  EXPECT_EQ(cu_.mem_alloc(&address, 4), CuResult::kCaptureUnsupported);
  EXPECT_EQ(end(global), CuResult::kCaptureInvalidated);
}

TEST_F(GraphsTest, ThreadOfRelaxedModeAllocatesDuringItsCapture) {
  start();
  CuDevicePointer address = 0;
  const CuStream stream = capture(CuCaptureMode::kThreadLocal);
  CuCaptureMode mode = CuCaptureMode::kRelaxed;
  ASSERT_EQ(cu_.thread_exchange_stream_capture_mode(&mode), CuResult::kSuccess);
  EXPECT_EQ(mode, CuCaptureMode::kGlobal);
  EXPECT_EQ(cu_.mem_alloc(&address, 4), CuResult::kSuccess);
  ASSERT_EQ(cu_.thread_exchange_stream_capture_mode(&mode), CuResult::kSuccess);
  EXPECT_EQ(cu_.mem_alloc(&address, 4), CuResult::kCaptureUnsupported);
  EXPECT_EQ(end(stream), CuResult::kCaptureInvalidated);
}

TEST_F(GraphsTest, EventFromOutsideCannotBeWaitedFor) {
  start();
  const CuEvent outside = make_event();
  EXPECT_EQ(cu_.event_record(outside, nullptr), CuResult::kSuccess);
  const CuStream stream = capture();
  EXPECT_EQ(cu_.stream_wait_event(stream, outside, 0), CuResult::kCaptureIsolation);
  EXPECT_EQ(end(stream), CuResult::kCaptureInvalidated);
}

TEST_F(GraphsTest, CapturedEventCannotBeAsked) {
  start();
  const CuEvent event = make_event();
  const CuStream stream = capture();
  EXPECT_EQ(cu_.event_record(event, stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.event_query(event), CuResult::kCapturedEvent);
}

TEST_F(GraphsTest, FaultInAGraphIsStickyAndLeavesOutTheRest) {
  start();
  const CuStream stream = capture();
  EXPECT_EQ(launch("add", {16, 1}, stream), CuResult::kSuccess);
  EXPECT_EQ(launch("add", {32, 1}, stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.graph_launch(finish(stream), stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kIllegalAddress);
  EXPECT_THAT(cu_.explain(), ::testing::HasSubstr("at 0x10"));
}

}  // namespace
}  // namespace sluice::cuda::emulator
