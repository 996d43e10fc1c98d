// What users of a device with memory of its own share, over any plug-in: copies in blocks, a pool
// of memory.
#include <gmock/gmock.h>

#include <numeric>

#include "base/clock.h"
#include "conformance/fixture.h"
#include "device/memory_pool.h"
#include "device/testing/device_testing.h"
#include "device/transfer/transfer_service.h"

namespace sluice::conformance {
namespace {

using device::ClientId;
using device::Direction;
using device::MemoryPool;
using device::PooledMemory;
using device::TransferReport;
using ::testing::ElementsAre;

constexpr std::int64_t kBlock = 1000;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;

class Services : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!device::needs_transfers(plugin->devices()[0])) {
      GTEST_SKIP() << "kernels of device 0 work on the host's memory";
    }
    const auto group = group_of_all_cores(plugin);
    SLUICE_ASSERT_OK(group);
    auto service = device::TransferService::create(*group, system_clock(),
                                                   {.block_bytes = kBlock, .blocks_in_flight = 1});
    SLUICE_ASSERT_OK(service);
    transfers_ = std::move(service).value();
  }

  /// Starts an upload whose end adds `name` to `ended_`.
  void upload(ClientId client, const std::string& name, std::span<const char> bytes,
              const DeviceMemory& memory) {
    const auto on_done = [this, name](const TransferReport& report) {
      ended_.push_back(name);
      last_ = report;
    };
    const auto id = transfers_->submit({client,
                                        Direction::kToDevice,
                                        bytes.data(),
                                        memory.address(),
                                        static_cast<std::int64_t>(bytes.size()),
                                        on_done,
                                        {}});
    SLUICE_ASSERT_OK(id);
    last_id_ = *id;
  }
  void drain() {
    while (transfers_->wait(-1)) {
    }
  }

  std::unique_ptr<device::TransferService> transfers_;
  std::vector<std::string> ended_;
  TransferReport last_;
  device::TransferId last_id_ = {};
};
SLUICE_INSTANTIATE_FOR_PLUGINS(Services);

TEST_P(Services, TransfersOfAllSizesGoThereAndBack) {
  const ClientId client = transfers_->add_client("model");
  for (const std::int64_t size : {1, 999, 1000, 1001, 5500}) {
    const auto memory = DeviceMemory::allocate(plugin, 0, size);
    SLUICE_ASSERT_OK(memory);
    std::vector<char> bytes(static_cast<std::size_t>(size));
    std::iota(bytes.begin(), bytes.end(), '\1');
    upload(client, "up", bytes, *memory);
    drain();
    SLUICE_EXPECT_OK(last_.status);
    EXPECT_EQ(last_.copied_bytes, size);
    std::vector<char> back(bytes.size());
    SLUICE_EXPECT_OK(device::testing::transfer_and_wait(
        *transfers_,
        {client, Direction::kFromDevice, memory->address(), back.data(), size, {}, {}}));
    EXPECT_EQ(back, bytes);
  }
}

TEST_P(Services, CancelledTransferHasCopiedWholeBlocks) {
  const std::vector<char> bytes(100 * kBlock, 'x');
  const auto memory = DeviceMemory::allocate(plugin, 0, 100 * kBlock);
  SLUICE_ASSERT_OK(memory);
  upload(transfers_->add_client("weights"), "weights", bytes, *memory);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(transfers_->wait(-1));
  EXPECT_TRUE(transfers_->cancel(last_id_));
  drain();
  EXPECT_EQ(last_.status.code(), Code::kCancelled);
  EXPECT_EQ(last_.copied_bytes % kBlock, 0);
  EXPECT_GE(last_.copied_bytes, kBlock);
  EXPECT_LT(last_.copied_bytes, 100 * kBlock);
}

TEST_P(Services, SmallTransferPassesABigOneThatHasBegun) {
  const std::vector<char> bytes(50 * kBlock, 'x');
  const auto large = DeviceMemory::allocate(plugin, 0, 50 * kBlock);
  const auto little = DeviceMemory::allocate(plugin, 0, 100);
  SLUICE_ASSERT_OK(large);
  SLUICE_ASSERT_OK(little);
  upload(transfers_->add_client("weights"), "weights", bytes, *large);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(transfers_->wait(-1));
  upload(transfers_->add_client("input"), "input", std::span(bytes).first(100), *little);
  drain();
  EXPECT_THAT(ended_, ElementsAre("input", "weights"));
}

TEST_P(Services, MemoryPoolGrowsLazilyAndShrinksEagerly) {
  MemoryPool pool =
      MemoryPool::of_device(plugin, 0, {.limit_bytes = 8 * kMiB, .slack_bytes = kMiB});
  EXPECT_EQ(pool.usage().held.bytes, 0);
  const auto allocate = [&] {
    auto memory = pool.allocate(kMiB, "model", device::MemoryCategory::kArenas);
    EXPECT_EQ(status_of(memory).to_string(), "ok");
    return std::move(memory).value();
  };
  {
    std::vector<PooledMemory> blocks;
    for (int i = 0; i < 4; ++i) blocks.push_back(allocate());
    EXPECT_EQ(pool.usage().held.bytes, 4 * kMiB);
  }
  EXPECT_EQ(pool.usage().idle_bytes, kMiB);
  EXPECT_EQ(pool.usage().shrunk_bytes, 3 * kMiB);
  { const PooledMemory again = allocate(); }
  EXPECT_EQ(pool.usage().grown_bytes, 4 * kMiB) << "the idle block was handed on";
  pool.release_idle();
  EXPECT_EQ(pool.usage().held.bytes, 0);
}

}  // namespace
}  // namespace sluice::conformance
