#include "device/stream_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "device/device_testing.h"

namespace sluice::device {
namespace {

using testing::copy_list;
using ::testing::HasSubstr;
using testing::make_device;
using testing::TestDevice;

/// Two queues of a device that copies 100 bytes in 100 ns, in each direction.
class StreamQueueTest : public ::testing::Test {
 protected:
  StreamQueue queue() {
    auto stream = pool_.take();
    EXPECT_TRUE(stream.is_ok());
    return StreamQueue(std::move(stream).value());
  }
  StreamWork upload(std::vector<EventPtr> after = {}) {
    return {&up_, {from_.data(), memory_.address()}, std::move(after)};
  }
  StreamWork download(std::vector<EventPtr> after = {}) {
    return {&down_, {memory_.address(), to_.data()}, std::move(after)};
  }
  /// Until nothing moves at this time.
  static void settle(StreamQueue& a, StreamQueue& b) {
    while (static_cast<int>(a.step()) + static_cast<int>(b.step()) > 0) {
    }
  }

  TestDevice device_ = make_device();
  StreamPool pool_{device_.group};
  backend::DeviceMemory memory_ = device_.allocate(100);
  std::vector<char> from_ = std::vector<char>(100, 'x');
  std::vector<char> to_ = std::vector<char>(100, ' ');
  backend::CommandList up_ = copy_list(device_, 100);
  backend::CommandList down_ = copy_list(device_, 100);
};

TEST_F(StreamQueueTest, WorkWaitsForAnEventOfAnotherStream) {
  StreamQueue ups = queue();
  StreamQueue downs = queue();
  const EventPtr is_up = ups.submit(upload());
  const EventPtr is_down = downs.submit(download({is_up}));
  settle(ups, downs);
  device_.sim.time->advance_by(99);
  settle(ups, downs);
  EXPECT_TRUE(is_up->is_pending());
  device_.sim.time->advance_by(1);
  settle(ups, downs);
  EXPECT_FALSE(is_up->is_pending());
  EXPECT_TRUE(is_down->is_pending()) << "starts only now";
  device_.sim.time->advance_by(100);
  settle(ups, downs);
  ASSERT_FALSE(is_down->is_pending());
  EXPECT_TRUE(is_down->status().is_ok());
  EXPECT_EQ(to_, from_);
}

TEST_F(StreamQueueTest, IndependentStreamsWorkAtTheSameTime) {
  StreamQueue ups = queue();
  StreamQueue downs = queue();
  const EventPtr is_up = ups.submit(upload());
  const EventPtr is_down = downs.submit(download());
  settle(ups, downs);
  device_.sim.time->advance_by(100);
  settle(ups, downs);
  EXPECT_FALSE(is_up->is_pending());
  EXPECT_FALSE(is_down->is_pending());
}

TEST_F(StreamQueueTest, AFailureFailsWhatWaitsForItAndNothingElse) {
  ASSERT_TRUE(device_.sim.time->inject_fault(R"({"kind": "failed_copy"})").is_ok());
  StreamQueue ups = queue();
  StreamQueue downs = queue();
  const EventPtr failing = ups.submit(upload());
  const EventPtr unrelated = ups.submit(upload());
  const EventPtr dependent = downs.submit(download({failing}));
  settle(ups, downs);
  device_.sim.time->advance_by(100);
  settle(ups, downs);
  device_.sim.time->advance_by(100);
  settle(ups, downs);
  ASSERT_FALSE(failing->is_pending());
  EXPECT_FALSE(failing->status().is_ok());
  ASSERT_FALSE(dependent->is_pending());
  EXPECT_THAT(dependent->status().message(), HasSubstr("what it waits for failed"));
  ASSERT_FALSE(unrelated->is_pending());
  EXPECT_TRUE(unrelated->status().is_ok());
  EXPECT_TRUE(ups.is_idle());
}

TEST_F(StreamQueueTest, CancellingSparesWhatRuns) {
  StreamQueue ups = queue();
  StreamQueue downs = queue();
  const EventPtr running = ups.submit(upload());
  const EventPtr waiting = ups.submit(upload());
  settle(ups, downs);
  ups.cancel_waiting();
  EXPECT_EQ(waiting->status().code(), Code::kCancelled);
  EXPECT_TRUE(running->is_pending());
  device_.sim.time->advance_by(100);
  settle(ups, downs);
  EXPECT_TRUE(running->status().is_ok());
}

}  // namespace
}  // namespace sluice::device
