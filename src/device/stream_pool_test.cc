#include "device/stream_pool.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "device/testing/device_testing.h"

namespace sluice::device {
namespace {

using testing::copy_list;
using testing::make_device;
using testing::TestDevice;

PooledStream take(StreamPool& pool) {
  auto stream = pool.take();
  EXPECT_TRUE(stream.is_ok()) << stream.status().to_string();
  return std::move(stream).value();
}

TEST(StreamPool, MarksStreamsUnusedInsteadOfDestroyingThem) {
  const TestDevice device = make_device();
  StreamPool pool(device.group);
  for (int i = 0; i < 5; ++i) {
    const PooledStream first = take(pool);
    const PooledStream second = take(pool);
    EXPECT_EQ(pool.num_unused(), 0U);
  }
  EXPECT_EQ(pool.num_streams(), 2U);
  EXPECT_EQ(pool.num_unused(), 2U);
}

TEST(StreamPool, AStreamWithWorkIsNotHandedOut) {
  const TestDevice device = make_device();
  const backend::DeviceMemory memory = device.allocate(100);
  std::vector<char> bytes(100);
  const backend::CommandList list = copy_list(device, 100);
  StreamPool pool(device.group);
  {
    PooledStream busy = take(pool);
    const std::array<void*, 2> bindings = {bytes.data(), memory.address()};
    ASSERT_TRUE(busy->submit(list, bindings).is_ok());
  }
  { const PooledStream other = take(pool); }
  EXPECT_EQ(pool.num_streams(), 2U) << "the first still copies";
  device.sim.time->advance_by(100);
  { const PooledStream first = take(pool); }
  EXPECT_EQ(pool.num_streams(), 2U);
}

TEST(StreamPool, ReusedStreamHasNoOldError) {
  const TestDevice device = make_device();
  const backend::DeviceMemory memory = device.allocate(100);
  std::vector<char> bytes(100);
  const backend::CommandList list = copy_list(device, 100);
  ASSERT_TRUE(device.sim.time->inject_fault(R"({"kind": "failed_copy"})").is_ok());
  StreamPool pool(device.group);
  {
    PooledStream failing = take(pool);
    const std::array<void*, 2> bindings = {bytes.data(), memory.address()};
    ASSERT_TRUE(failing->submit(list, bindings).is_ok());
  }
  device.sim.time->advance_by(100);
  PooledStream next = take(pool);
  EXPECT_EQ(pool.num_streams(), 1U);
  EXPECT_TRUE(next->wait().is_ok());
}

}  // namespace
}  // namespace sluice::device
