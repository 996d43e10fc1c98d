// Lists that cannot be captured, and graphs whose kernels fail.

#include <algorithm>
#include <thread>

#include "plugin/testing/device_lists.h"

namespace sluice::cuda {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class FailedGraphsTest : public DeviceListsTest {};

TEST_F(FailedGraphsTest, FaultOfAKernelIsToldByTheWait) {
  Stream& stream = make_stream();
  const Kernel& kernel = make_add();
  void* const memory = allocate();
  void* const other = allocate();
  CommandList& list = make_list();
  add(list, kernel, fixed(other), fixed(other), fixed(memory));
  add(list, kernel, fixed(other), fixed(memory), fixed(memory));
  copy(list, fixed(memory), bound(0));
  finish(list);
  std::vector<float> y(kCount);
  EXPECT_EQ(run(stream, list, {y.data()}).text, "");
  EXPECT_EQ(run(stream, list, {y.data()}).text, "");
  EXPECT_EQ(num_captured(), 1);
  backend_->release(0, other);
  std::ranges::fill(y, 7.0F);
  const Status status = run(stream, list, {y.data()});
  EXPECT_EQ(status.code, SLUICE_UNAVAILABLE);
  EXPECT_THAT(status.text, HasSubstr("kernel sluice_kernel"));
  EXPECT_THAT(y, Each(7.0F));
}

CuResult refuse_begin(CuStream, CuCaptureMode) { return CuResult::kNotSupported; }
CuResult refuse_instance(CuGraphExec*, CuGraph, unsigned long long) {
  return CuResult::kOutOfMemory;
}

TEST_F(FailedGraphsTest, ListThatCannotBeCapturedRunsWithoutGraphsAndItIsCounted) {
  const std::pair<void (*)(DriverTable&), const char*> cases[] = {
      {[](DriverTable& table) { table.stream_begin_capture = refuse_begin; }, "starting a capture"},
      {[](DriverTable& table) { table.graph_instantiate_with_flags = refuse_instance; },
       "making a graph: the device has too little free memory"}};
  for (const auto& [change, reason] : cases) {
    start({.change = change});
    Stream& stream = make_stream();
    CommandList& list = make_quadruple();
    for (int i = 0; i < 4; ++i) quadruple(stream, list, static_cast<float>(i));
    EXPECT_EQ(num_captured(), 0);
    EXPECT_EQ(backend_->graph_counts().num_refused, 1);
    EXPECT_THAT(backend_->graph_counts().last_refusal, HasSubstr(reason));
  }
}

DriverTable unchanged;

CuResult allocate_and_end(CuStream stream, CuGraph* graph) {
  // What a library might do. The capture is over, and its end says so.
  CuDevicePointer address = 0;
  EXPECT_EQ(unchanged.mem_alloc(&address, 4), CuResult::kCaptureUnsupported);
  return unchanged.stream_end_capture(stream, graph);
}

TEST_F(FailedGraphsTest, CaptureThatACallEndedLeavesTheStreamUsable) {
  start({.change = [](DriverTable& table) {
    unchanged = table;
    table.stream_end_capture = allocate_and_end;
  }});
  Stream& stream = make_stream();
  CommandList& list = make_quadruple();
  for (int i = 0; i < 4; ++i) quadruple(stream, list, static_cast<float>(i));
  EXPECT_THAT(backend_->graph_counts().last_refusal, HasSubstr("an earlier error ended"));
}

CuResult end_while_another_thread_allocates(CuStream stream, CuGraph* graph) {
  CuContext context = nullptr;
  EXPECT_EQ(unchanged.ctx_get_current(&context), CuResult::kSuccess);
  std::thread other([&] {
    CuDevicePointer address = 0;
    EXPECT_EQ(unchanged.ctx_set_current(context), CuResult::kSuccess);
    EXPECT_EQ(unchanged.mem_alloc(&address, 4), CuResult::kSuccess);
  });
  other.join();
  return unchanged.stream_end_capture(stream, graph);
}

TEST_F(FailedGraphsTest, OtherThreadsMayAllocateDuringACapture) {
  start({.change = [](DriverTable& table) {
    unchanged = table;
    table.stream_end_capture = end_while_another_thread_allocates;
  }});
  Stream& stream = make_stream();
  CommandList& list = make_quadruple();
  for (int i = 0; i < 3; ++i) quadruple(stream, list, static_cast<float>(i));
  EXPECT_EQ(num_captured(), 1);
}

}  // namespace
}  // namespace sluice::cuda
