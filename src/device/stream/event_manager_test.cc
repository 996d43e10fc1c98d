#include "device/stream/event_manager.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "device/testing/device_testing.h"

namespace sluice::device {
namespace {

using testing::copy_list;
using testing::make_device;
using testing::TestDevice;

Access access_of(const void* begin, std::int64_t size_bytes, bool is_write) {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  return {address, address + static_cast<std::uintptr_t>(size_bytes), is_write};
}

/// Streams of a device that copies to and from it at the same time.
class EventManagerTest : public ::testing::Test {
 protected:
  EventManagerTest() {
    StreamPool pool = StreamPool::create(device_.group).value();
    for (int i = 0; i < 3; ++i) streams_.push_back(pool.take("test").value());
  }
  /// A copy of all bytes; 100 ns.
  void copy(std::size_t stream, const backend::CommandList& list, void* from, void* to) {
    const std::array accesses = {access_of(from, 100, false), access_of(to, 100, true)};
    ASSERT_TRUE(events_.order(streams_, stream, accesses).is_ok());
    const std::array<void*, 2> bindings = {from, to};
    ASSERT_TRUE(streams_[stream]->submit(list, bindings).is_ok());
  }
  void finish() {
    for (PooledStream& stream : streams_) ASSERT_TRUE(stream->wait().is_ok());
    events_.end_run();
  }

  TestDevice device_ = make_device();
  std::vector<PooledStream> streams_;
  EventManager events_{device_.sim.backend, 3};
};

TEST_F(EventManagerTest, CopyBackStartsWhenTheUploadIsDoneWithoutAWaitOfTheHost) {
  const backend::DeviceMemory memory = device_.allocate(100);
  std::vector<char> bytes(100, 'x');
  std::vector<char> back(100);
  const auto up = copy_list(device_, 100);
  const auto down = copy_list(device_, 100);
  copy(0, up, bytes.data(), memory.address());
  copy(1, down, memory.address(), back.data());
  EXPECT_EQ(events_.num_waits(), 1);
  finish();
  EXPECT_EQ(back, bytes) << "without the event both would have run at once";
  EXPECT_EQ(device_.now_ns(), 200);
}

TEST_F(EventManagerTest, IndependentStreamsRunAtTheSameTime) {
  const backend::DeviceMemory memory = device_.allocate(100);
  const backend::DeviceMemory other = device_.allocate(100);
  std::vector<char> bytes(100, 'x');
  std::vector<char> back(100);
  const auto up = copy_list(device_, 100);
  const auto down = copy_list(device_, 100);
  copy(0, up, bytes.data(), memory.address());
  copy(1, down, other.address(), back.data());
  EXPECT_EQ(events_.num_waits(), 0);
  finish();
  EXPECT_EQ(device_.now_ns(), 100);
}

TEST_F(EventManagerTest, StreamNeverWaitsForItselfAndEventsAreReused) {
  const backend::DeviceMemory memory = device_.allocate(100);
  std::vector<char> bytes(100, 'x');
  std::vector<char> back(100);
  const auto up = copy_list(device_, 100);
  const auto again = copy_list(device_, 100);
  const auto down = copy_list(device_, 100);
  for (int run = 0; run < 5; ++run) {
    copy(0, up, bytes.data(), memory.address());
    copy(0, again, bytes.data(), memory.address());
    EXPECT_EQ(events_.num_waits(), run);
    copy(1, down, memory.address(), back.data());
    finish();
  }
  EXPECT_EQ(events_.num_created(), 1U);
}

TEST_F(EventManagerTest, OneEventServesAllThatWaitForTheSameWork) {
  const backend::DeviceMemory memory = device_.allocate(100);
  std::vector<char> bytes(100, 'x');
  std::vector<char> back(200);
  const auto up = copy_list(device_, 100);
  const auto down = copy_list(device_, 100);
  const auto other = copy_list(device_, 100);
  copy(0, up, bytes.data(), memory.address());
  copy(1, down, memory.address(), back.data());
  copy(2, other, memory.address(), back.data() + 100);
  EXPECT_EQ(events_.num_waits(), 2);
  EXPECT_EQ(events_.num_created(), 1U);
  finish();
  EXPECT_EQ(back, std::vector<char>(200, 'x'));
}

/// 12 copies in each run between few places, submitted to any stream, end as if they ran one after
/// another.
TEST_F(EventManagerTest, HundredThousandRandomCopiesEndAsOneAfterAnother) {
  std::mt19937 random(3);
  std::vector<backend::CommandList> lists;
  for (int i = 0; i < 12; ++i) lists.push_back(copy_list(device_, 100));
  std::vector<backend::DeviceMemory> places;
  std::vector<char> expected;
  for (int i = 0; i < 4; ++i) {
    places.push_back(device_.allocate(100));
    std::memset(places.back().address(), i, 100);
    expected.push_back(static_cast<char>(i));
  }
  for (int run = 0; run < 8400; ++run) {
    for (const backend::CommandList& list : lists) {
      const std::size_t from = random() % 4;
      const std::size_t to = (from + 1 + random() % 3) % 4;
      copy(random() % 3, list, places[from].address(), places[to].address());
      expected[to] = expected[from];
    }
    finish();
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_EQ(*static_cast<char*>(places[i].address()), expected[i]) << "run " << run;
    }
    if (run % 20 == 0) {  // else all become equal
      for (std::size_t i = 0; i < 4; ++i) {
        expected[i] = static_cast<char>(random());
        std::memset(places[i].address(), expected[i], 100);
      }
    }
  }
}

}  // namespace
}  // namespace sluice::device
