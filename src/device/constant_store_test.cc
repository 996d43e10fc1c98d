#include "device/constant_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/device_services.h"
#include "device/testing/device_testing.h"

namespace sluice::device {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kBlock = 1000;

Bytes bytes_of(std::size_t size, char value) {
  return Bytes::own(std::vector<std::byte>(size, static_cast<std::byte>(value)));
}

class ConstantStoreTest : public ::testing::Test {
 protected:
  ConstantStoreTest() {
    auto services = table_.of(device_.sim.backend, 0);
    EXPECT_TRUE(services.is_ok()) << services.status().to_string();
    services_ = std::move(services).value();
  }
  ConstantStore& store() { return services_->constants; }

  testing::TestDevice device_ = testing::make_device();
  DeviceServiceTable table_{*device_.sim.time, {.block_bytes = kBlock, .blocks_in_flight = 1}};
  std::shared_ptr<DeviceServices> services_;
};

TEST_F(ConstantStoreTest, CopiesAConstantOnceAndSharesIt) {
  const Bytes bytes = bytes_of(3000, 'w');
  const auto first = store().bring(bytes);
  ASSERT_TRUE(first.is_ok()) << first.status().to_string();
  EXPECT_NE(first->get(), bytes.data());
  EXPECT_EQ(std::memcmp(first->get(), bytes.data(), bytes.size()), 0);
  EXPECT_EQ(device_.now_ns(), 3000);
  const auto second = store().bring(bytes);
  EXPECT_EQ(second->get(), first->get());
  EXPECT_EQ(device_.now_ns(), 3000) << "nothing was copied again";
  EXPECT_EQ(services_->memory.usage().bytes_of(MemoryCategory::kConstants), 3000);
}

TEST_F(ConstantStoreTest, UnusedConstantLeavesTheDevice) {
  const Bytes bytes = bytes_of(3000, 'w');
  { const auto held = store().bring(bytes); }
  EXPECT_EQ(store().num_living(), 0U);
  EXPECT_EQ(device_.sim.time->memory_used_bytes(0), 0);
}

TEST_F(ConstantStoreTest, OriginalLivesAsLongAsTheCopy) {
  Bytes bytes = bytes_of(64, 'a');
  const auto held = store().bring(bytes);
  const std::byte* place = bytes.data();
  bytes = Bytes();
  EXPECT_EQ(place[0], static_cast<std::byte>('a')) << "else other bytes there would pass for it";
}

TEST_F(ConstantStoreTest, StoppedUploadLeavesNothing) {
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = store().bring(bytes_of(50 * kBlock, 'w'), stop.get_token());
  EXPECT_EQ(stopped.status().code(), Code::kCancelled);
  EXPECT_EQ(device_.now_ns(), kBlock);
  EXPECT_EQ(device_.sim.time->memory_used_bytes(0), 0);
}

TEST_F(ConstantStoreTest, FullDeviceErrorListsMemoryUse) {
  const auto held = store().bring(bytes_of(3000, 'w'));
  ASSERT_TRUE(device_.sim.time->inject_fault(R"({"kind": "memory_exhausted"})").is_ok());
  const Status status = store().bring(bytes_of(5000, 'v')).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("3000 bytes of constants"));
}

TEST_F(ConstantStoreTest, AdoptedMemoryIsTheCopyOfBytesThatTheHostLacks) {
  const Bytes host = bytes_of(3000, '\0');
  auto memory = store().reserve(3000);
  ASSERT_TRUE(memory.is_ok()) << memory.status().to_string();
  const void* address = memory->address();
  std::memset(memory->address(), 'r', 3000);  // a run; the simulation lets the host reach it
  {
    const auto copy = store().adopt(host, std::move(*memory));
    ASSERT_TRUE(copy.is_ok()) << copy.status().to_string();
    EXPECT_EQ(copy->get(), address);
    EXPECT_EQ(store().find(host.data(), 3000).get(), address);
    EXPECT_EQ(device_.now_ns(), 0) << "nothing was copied";
    const auto read = store().read_back(host);
    ASSERT_TRUE(read.is_ok() && read->has_value());
    EXPECT_EQ((*read)->data()[2999], std::byte{'r'});
  }
  EXPECT_EQ(store().find(host.data(), 3000), nullptr);
  EXPECT_EQ(device_.sim.time->memory_used_bytes(0), 0);
}

TEST_F(ConstantStoreTest, TableHasOneSetOfServicesPerDevice) {
  EXPECT_EQ(table_.of(device_.sim.backend, 0).value(), services_);
  EXPECT_EQ(table_.find(device_.sim.backend->name(), 0), services_);
  EXPECT_EQ(table_.find("other", 0), nullptr);
}

}  // namespace
}  // namespace sluice::device
