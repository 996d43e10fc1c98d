#include "device/stream/stream_pool.h"

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
  auto stream = pool.take("model");
  EXPECT_TRUE(stream.is_ok()) << stream.status().to_string();
  return std::move(stream).value();
}

TEST(StreamPool, MarksStreamsUnusedInsteadOfDestroyingThem) {
  const TestDevice device = make_device();
  StreamPool pool = StreamPool::create(device.group).value();
  for (int i = 0; i < 5; ++i) {
    const PooledStream first = take(pool);
    const PooledStream second = take(pool);
    EXPECT_EQ(pool.num_unused(), 0U);
  }
  EXPECT_EQ(pool.num_streams(), 2U);
  EXPECT_EQ(pool.num_unused(), 2U);
}

TEST(StreamPool, StreamWithWorkIsNotHandedOut) {
  const TestDevice device = make_device();
  const backend::DeviceMemory memory = device.allocate(100);
  std::vector<char> bytes(100);
  const backend::CommandList list = copy_list(device, 100);
  StreamPool pool = StreamPool::create(device.group).value();
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
  StreamPool pool = StreamPool::create(device.group).value();
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

TEST(StreamLedger, AddsUpThePoolsOfADevice) {
  const TestDevice device = make_device();
  const backend::DeviceMemory memory = device.allocate(100);
  std::vector<char> bytes(100);
  const backend::CommandList list = copy_list(device, 100);
  const auto ledger = std::make_shared<StreamLedger>();
  StreamPool first = StreamPool::create(device.group, {.made_ahead = 2}, ledger).value();
  {
    StreamPool second = StreamPool::create(device.group, {}, ledger).value();
    const PooledStream idle = take(second);
    PooledStream busy = take(first);
    const std::array<void*, 2> bindings = {bytes.data(), memory.address()};
    ASSERT_TRUE(busy->submit(list, bindings).is_ok());
    EXPECT_EQ(ledger->usage().in_use.at("model"), 2);
    EXPECT_EQ(ledger->usage().unused, 1);
    EXPECT_EQ(ledger->usage().made, 3);
  }
  EXPECT_EQ(ledger->usage().num_in_use(), 0);
  EXPECT_EQ(ledger->usage().draining, 1) << "it still copies";
  EXPECT_EQ(ledger->usage().unused, 1) << "those of the second pool went with it";
  device.sim.time->advance_by(100);
  ASSERT_TRUE(first.refill().is_ok());
  EXPECT_EQ(ledger->usage().draining, 0);
  EXPECT_EQ(ledger->usage().unused, 2);
  EXPECT_EQ(ledger->usage().drained, 2);
  EXPECT_EQ(ledger->usage().made, 3);
}

TEST(StreamPool, StreamsAreMadeAheadAndAgainAfterARefill) {
  const TestDevice device = make_device();
  StreamPool pool = StreamPool::create(device.group, {.made_ahead = 3}).value();
  EXPECT_EQ(pool.num_created(), 3U);
  const PooledStream first = take(pool);
  const PooledStream second = take(pool);
  EXPECT_EQ(pool.num_created(), 3U) << "both were there";
  EXPECT_EQ(pool.num_unused(), 1U);
  ASSERT_TRUE(pool.refill().is_ok());
  EXPECT_EQ(pool.num_unused(), 3U);
  EXPECT_EQ(pool.num_created(), 5U);
}

TEST(StreamPool, DestroysIdleStreamsBeyondItsLimit) {
  const TestDevice device = make_device();
  StreamPool pool = StreamPool::create(device.group, {.max_unused = 2}).value();
  {
    std::vector<PooledStream> taken;
    for (int i = 0; i < 5; ++i) taken.push_back(take(pool));
    EXPECT_EQ(pool.num_streams(), 5U);
  }
  EXPECT_EQ(pool.num_streams(), 2U);
  EXPECT_FALSE(StreamPool::create(device.group, {.made_ahead = 3, .max_unused = 2}).is_ok());
}

TEST(StreamPool, TellsWhoHasStreams) {
  const TestDevice device = make_device();
  StreamPool pool = StreamPool::create(device.group).value();
  const PooledStream first = pool.take("resnet").value();
  {
    const PooledStream second = pool.take("resnet").value();
    const PooledStream other = pool.take("bert").value();
    ASSERT_EQ(pool.uses().size(), 2U);
    EXPECT_EQ(pool.uses()[0].owner, "bert");
    EXPECT_EQ(pool.uses()[1].num_streams, 2U);
  }
  ASSERT_EQ(pool.uses().size(), 1U) << "what is left is a leak, if the owner has ended";
  EXPECT_EQ(pool.uses()[0].owner, "resnet");
}

}  // namespace
}  // namespace sluice::device
