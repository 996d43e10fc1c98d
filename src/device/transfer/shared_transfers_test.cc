#include "device/transfer/shared_transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "device/testing/device_testing.h"

namespace sluice::device {
namespace {

using testing::make_device;
using testing::TestDevice;

constexpr std::int64_t kSharedBlock = 1000;

/// A byte takes a nanosecond, each way.
class SharedTransfersTest : public ::testing::Test {
 protected:
  SharedTransfersTest() {
    auto made = SharedTransfers::create(device_.sim.backend, 0, *device_.sim.time,
                                        {.block_bytes = kSharedBlock, .blocks_in_flight = 1});
    EXPECT_TRUE(made.is_ok()) << made.status().to_string();
    transfers_ = std::move(made).value();
  }
  static Copy into(const backend::DeviceMemory& memory, const std::vector<char>& bytes) {
    return {bytes.data(), memory.address(), static_cast<std::int64_t>(bytes.size())};
  }

  TestDevice device_ = make_device();  ///< its only core is a group's already
  std::shared_ptr<SharedTransfers> transfers_;
};

TEST_F(SharedTransfersTest, NeedsNoCores) {
  EXPECT_NE(transfers_, nullptr) << "although all of them are taken";
}

TEST_F(SharedTransfersTest, BatchIsDoneWhenAllItsCopiesAre) {
  SharedTransfers::Batch batch(SharedTransfers::add_client(transfers_, "model"));
  const std::vector<char> first(1500, 'a');
  const std::vector<char> second(300, 'b');
  const auto target = device_.allocate(1500);
  const auto other = device_.allocate(300);
  const std::array<Copy, 2> copies = {into(target, first), into(other, second)};
  ASSERT_TRUE(batch.start(Direction::kToDevice, copies).is_ok());
  EXPECT_FALSE(batch.poll().value());
  device_.sim.time->advance_to(1000);
  EXPECT_FALSE(batch.poll().value());
  device_.sim.time->advance_to(1500);
  EXPECT_FALSE(batch.poll().value()) << "the second one is left";
  device_.sim.time->advance_to(1800);
  EXPECT_TRUE(batch.poll().value());
  EXPECT_EQ(std::memcmp(target.address(), first.data(), first.size()), 0);
  EXPECT_EQ(std::memcmp(other.address(), second.data(), second.size()), 0);
}

TEST_F(SharedTransfersTest, WaiterDrivesAllCopies) {
  SharedTransfers::Batch small(SharedTransfers::add_client(transfers_, "small"));
  SharedTransfers::Batch big(SharedTransfers::add_client(transfers_, "big"));
  const std::vector<char> much(20 * kSharedBlock);
  const std::vector<char> little(10);
  const auto big_target = device_.allocate(20 * kSharedBlock);
  const auto small_target = device_.allocate(10);
  ASSERT_TRUE(big.start(Direction::kToDevice, std::array{into(big_target, much)}).is_ok());
  ASSERT_TRUE(small.start(Direction::kToDevice, std::array{into(small_target, little)}).is_ok());
  ASSERT_TRUE(small.wait().is_ok());
  EXPECT_EQ(device_.now_ns(), kSharedBlock + 10)
      << "behind one block of the big copy, not behind all";
  EXPECT_FALSE(big.poll().value());
  ASSERT_TRUE(big.wait().is_ok());
  EXPECT_EQ(device_.now_ns(), 20 * kSharedBlock + 10);
}

TEST_F(SharedTransfersTest, WaitThatIsStoppedEndsAtTheBlocksBorder) {
  SharedTransfers::Batch batch(SharedTransfers::add_client(transfers_, "model"));
  const std::vector<char> bytes(20 * kSharedBlock);
  const auto target = device_.allocate(20 * kSharedBlock);
  ASSERT_TRUE(batch.start(Direction::kToDevice, std::array{into(target, bytes)}).is_ok());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(batch.wait(stop.get_token()).code(), Code::kCancelled);
  EXPECT_EQ(device_.now_ns(), kSharedBlock);
}

TEST_F(SharedTransfersTest, CancelledBatchEndsWithItsBlockAndIsUsedAgain) {
  SharedTransfers::Batch batch(SharedTransfers::add_client(transfers_, "model"));
  const std::vector<char> bytes(3 * kSharedBlock, 'x');
  const auto target = device_.allocate(3 * kSharedBlock);
  ASSERT_TRUE(batch.start(Direction::kToDevice, std::array{into(target, bytes)}).is_ok());
  batch.cancel();
  EXPECT_EQ(batch.wait().code(), Code::kCancelled);
  EXPECT_EQ(device_.now_ns(), kSharedBlock);
  ASSERT_TRUE(batch.start(Direction::kToDevice, std::array{into(target, bytes)}).is_ok());
  ASSERT_TRUE(batch.wait().is_ok());
  EXPECT_EQ(device_.now_ns(), 4 * kSharedBlock) << "the block that was being copied, and three";
  EXPECT_EQ(std::memcmp(target.address(), bytes.data(), bytes.size()), 0);
}

TEST_F(SharedTransfersTest, DestroyedBatchLeavesNoCopyInFlight) {
  const auto client = SharedTransfers::add_client(transfers_, "model");
  const std::vector<char> bytes(3 * kSharedBlock, 'x');
  const auto target = device_.allocate(3 * kSharedBlock);
  {
    SharedTransfers::Batch batch(client);
    ASSERT_TRUE(batch.start(Direction::kToDevice, std::array{into(target, bytes)}).is_ok());
  }
  EXPECT_EQ(device_.now_ns(), kSharedBlock) << "the block that was being copied has ended";
  device_.sim.time->run_until_idle();
  EXPECT_EQ(device_.now_ns(), kSharedBlock) << "and no other was started";
}

TEST_F(SharedTransfersTest, FailedCopyIsTheBatchesError) {
  SharedTransfers::Batch batch(SharedTransfers::add_client(transfers_, "model"));
  const std::vector<char> bytes(10);
  const auto target = device_.allocate(10);
  ASSERT_TRUE(device_.sim.time->inject_fault(R"({"kind": "failed_copy"})").is_ok());
  ASSERT_TRUE(batch.start(Direction::kToDevice, std::array{into(target, bytes)}).is_ok());
  EXPECT_FALSE(batch.wait().is_ok());
  ASSERT_TRUE(batch.start(Direction::kToDevice, std::array{into(target, bytes)}).is_ok());
  EXPECT_TRUE(batch.wait().is_ok()) << "and nobody else's";
}

TEST_F(SharedTransfersTest, ThreadsWaitForTheirOwnBatches) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto client = SharedTransfers::add_client(transfers_, "thread");
      SharedTransfers::Batch batch(client);
      const auto target = device_.allocate(2500);
      for (int i = 0; i < 50; ++i) {
        const std::vector<char> bytes(2500, static_cast<char>('a' + t + i % 7));
        ASSERT_TRUE(batch.start(Direction::kToDevice, std::array{into(target, bytes)}).is_ok());
        ASSERT_TRUE(batch.wait().is_ok());
        ASSERT_EQ(std::memcmp(target.address(), bytes.data(), bytes.size()), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace sluice::device
