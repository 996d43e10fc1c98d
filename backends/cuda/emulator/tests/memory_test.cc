// Device memory: bounds, ends of life, sticky errors, access between devices.

#include <tuple>

#include "emulator/testing/emulator_test.h"

namespace sluice::cuda::emulator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MemoryTest : public EmulatorTest {};

TEST_F(MemoryTest, NewMemoryHoldsNaN) {
  start();
  CuDevicePointer address = 0;
  float value = 0;
  ASSERT_EQ(cu_.mem_alloc(&address, 4), CuResult::kSuccess);
  ASSERT_EQ(cu_.memcpy_dtoh_async(&value, address, 4, nullptr), CuResult::kSuccess);
  EXPECT_NE(value, value);
}

TEST_F(MemoryTest, FreedBytesGoOnceNoRunningAccessHoldsThem) {
  AddressSpace memory;
  const auto allocation = memory.allocate(0, 64, Allocation::State::kLive);
  const std::weak_ptr<std::byte[]> bytes = allocation->data;
  {
    AddressSpace::Place access;
    ASSERT_TRUE(memory.resolve(allocation->address + 8, 4, &access).is_none());
    memory.free(*allocation);
    EXPECT_FALSE(bytes.expired());
    access.data[0] = std::byte{1};
  }
  EXPECT_TRUE(bytes.expired());
  AddressSpace::Place late;
  EXPECT_THAT(memory.resolve(allocation->address, 4, &late).text, HasSubstr("was freed"));
}

TEST_F(MemoryTest, AddressesTellWhereTheyLie) {
  start();
  const CuDevicePointer number = make_int(0);
  void* pinned = nullptr;
  ASSERT_EQ(cu_.mem_host_alloc(&pinned, 8, 0), CuResult::kSuccess);
  const auto type_of = [&](CuDevicePointer address, CuMemoryType* type) {
    return cu_.pointer_get_attribute(type, CuPointerAttribute::kMemoryType, address);
  };
  int device = -1;
  CuDevicePointer begin = 0;
  std::size_t bytes = 0;
  using enum CuPointerAttribute;
  EXPECT_EQ(cu_.pointer_get_attribute(&device, kDeviceOrdinal, number + 3), CuResult::kSuccess);
  EXPECT_EQ(cu_.pointer_get_attribute(&begin, kRangeStart, number + 3), CuResult::kSuccess);
  EXPECT_EQ(cu_.pointer_get_attribute(&bytes, kRangeSize, number + 3), CuResult::kSuccess);
  EXPECT_THAT(std::tuple(device, begin, bytes), testing::FieldsAre(0, number, sizeof(int)));
  CuMemoryType type = {};
  EXPECT_EQ(type_of(number + 3, &type), CuResult::kSuccess);
  EXPECT_EQ(type, CuMemoryType::kDevice);
  EXPECT_EQ(type_of(reinterpret_cast<CuDevicePointer>(pinned), &type), CuResult::kSuccess);
  EXPECT_EQ(type, CuMemoryType::kHost);
  EXPECT_EQ(type_of(reinterpret_cast<CuDevicePointer>(&type), &type), CuResult::kInvalidValue);
  EXPECT_EQ(cu_.mem_free(number), CuResult::kSuccess);
  EXPECT_EQ(type_of(number, &type), CuResult::kInvalidValue);
}

TEST_F(MemoryTest, CopyPastTheEndIsRefusedWithBothSizes) {
  start();
  const CuDevicePointer number = make_int(0);
  const std::array<int, 2> source = {};
  EXPECT_EQ(cu_.memcpy_htod_async(number, source.data(), 8, nullptr), CuResult::kInvalidValue);
  EXPECT_THAT(cu_.explain(),
              AllOf(HasSubstr("8 bytes"), HasSubstr("the end of the allocation of 4 bytes")));
}

TEST_F(MemoryTest, KernelPastTheEndFailsAtTheNextWaitAndForEver) {
  start();
  const CuDevicePointer number = make_int(0);
  EXPECT_EQ(launch("add", {number + 4, 1}, nullptr), CuResult::kSuccess);
  EXPECT_EQ(cu_.stream_synchronize(nullptr), CuResult::kIllegalAddress);
  EXPECT_THAT(cu_.explain(), AllOf(HasSubstr("kernel add"), HasSubstr("ends 0 bytes before")));
  EXPECT_EQ(cu_.stream_synchronize(nullptr), CuResult::kIllegalAddress);
  CuDevicePointer address = 0;
  EXPECT_EQ(cu_.mem_alloc(&address, 4), CuResult::kIllegalAddress);
}

TEST_F(MemoryTest, StickyErrorOutlivesAResetAndARelease) {
  for (const bool resets : {true, false}) {
    start();
    EXPECT_EQ(launch("add", {16, 1}, nullptr), CuResult::kSuccess);
    EXPECT_EQ(cu_.ctx_synchronize(), CuResult::kIllegalAddress);
    const auto end = resets ? cu_.device_primary_ctx_reset : cu_.device_primary_ctx_release;
    EXPECT_EQ(end(0), CuResult::kSuccess);
    EXPECT_EQ(cu_.ctx_synchronize(), CuResult::kInvalidContext);
    EXPECT_EQ(cu_.device_primary_ctx_retain(&context_, 0), CuResult::kIllegalAddress);
    EXPECT_THAT(cu_.explain(), HasSubstr("kernel add"));
  }
  start();  // another process
  EXPECT_EQ(read_int(make_int(1)), 1);
}

TEST_F(MemoryTest, ResetEndsWhatADeviceWithoutErrorHolds) {
  start();
  const CuDevicePointer number = make_int(1);
  EXPECT_EQ(cu_.device_primary_ctx_reset(0), CuResult::kSuccess);
  ASSERT_EQ(cu_.device_primary_ctx_retain(&context_, 0), CuResult::kSuccess);
  ASSERT_EQ(cu_.ctx_set_current(context_), CuResult::kSuccess);
  EXPECT_EQ(cu_.mem_free(number), CuResult::kInvalidValue);
  EXPECT_EQ(read_int(make_int(2)), 2);
}

TEST_F(MemoryTest, FaultDropsWhatWaitsAndHangsNobody) {
  start();
  const CuStream stream = make_stream();
  const CuEvent event = make_event();
  const CuDevicePointer number = make_int(0);
  EXPECT_EQ(launch("add", {16, 1}, stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.event_record(event, stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.stream_wait_event(nullptr, event, 0), CuResult::kSuccess);
  EXPECT_EQ(launch("add", {number, 1}, nullptr), CuResult::kSuccess);
  EXPECT_EQ(cu_.ctx_synchronize(), CuResult::kIllegalAddress);
}

TEST_F(MemoryTest, UseAfterFreeNamesTheAllocation) {
  start();
  const CuDevicePointer number = make_int(0);
  const CuStream stream = make_stream();
  EXPECT_EQ(launch("add", {number, 1}, stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.mem_free(number), CuResult::kSuccess);  // before the kernel has run
  EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kIllegalAddress);
  EXPECT_THAT(cu_.explain(), HasSubstr("the allocation of 4 bytes at " + address_text(number)));
  EXPECT_THAT(cu_.explain(), HasSubstr("was freed"));
}

TEST_F(MemoryTest, DoubleFreeIsRefused) {
  start();
  const CuDevicePointer number = make_int(0);
  EXPECT_EQ(cu_.mem_free(number), CuResult::kSuccess);
  EXPECT_EQ(cu_.mem_free(number), CuResult::kInvalidValue);
  EXPECT_THAT(cu_.explain(), HasSubstr("was freed before"));
}

TEST_F(MemoryTest, DeviceRefusesMoreThanItHas) {
  Description description;
  description.devices[0].memory_bytes = 1 << 20;
  start(description);
  CuDevicePointer first = 0;
  CuDevicePointer second = 0;
  EXPECT_EQ(cu_.mem_alloc(&first, 700 << 10), CuResult::kSuccess);
  EXPECT_EQ(cu_.mem_alloc(&second, 700 << 10), CuResult::kOutOfMemory);
  EXPECT_THAT(cu_.explain(), HasSubstr("device 0 has no 716800 bytes left of 1048576"));
  EXPECT_EQ(cu_.mem_free(first), CuResult::kSuccess);
  EXPECT_EQ(cu_.mem_alloc(&second, 700 << 10), CuResult::kSuccess);
  std::size_t free = 0;
  std::size_t total = 0;
  EXPECT_EQ(cu_.mem_get_info(&free, &total), CuResult::kSuccess);
  EXPECT_EQ(total - free, 700U << 10);
}

TEST_F(MemoryTest, KernelReachesPinnedMemoryOfTheHost) {
  start();
  int* const number = make_pinned<int>();
  *number = 4;
  EXPECT_EQ(launch("add", {reinterpret_cast<std::uint64_t>(number), 3}, nullptr),
            CuResult::kSuccess);
  EXPECT_EQ(cu_.stream_synchronize(nullptr), CuResult::kSuccess);
  EXPECT_EQ(*number, 7);
}

TEST_F(MemoryTest, OverlappingRegistrationIsRefused) {
  start();
  std::array<char, 64> memory = {};
  EXPECT_EQ(cu_.mem_host_register(memory.data() + 16, 16, 0), CuResult::kSuccess);
  EXPECT_EQ(cu_.mem_host_register(memory.data(), 64, 0), CuResult::kHostMemoryAlreadyRegistered);
  EXPECT_EQ(cu_.mem_host_unregister(memory.data() + 16), CuResult::kSuccess);
  EXPECT_EQ(cu_.mem_host_unregister(memory.data() + 16), CuResult::kHostMemoryNotRegistered);
}

class PeersTest : public EmulatorTest {
 protected:
  /// Two devices, an int on the second, and the first device's context current.
  void start_two() {
    Description description;
    description.devices.resize(2);
    start(description);
    ASSERT_EQ(cu_.device_primary_ctx_retain(&other_, 1), CuResult::kSuccess);
    ASSERT_EQ(cu_.ctx_set_current(other_), CuResult::kSuccess);
    number_ = make_int(1);
    ASSERT_EQ(cu_.ctx_set_current(context_), CuResult::kSuccess);
  }
  CuContext other_ = nullptr;
  CuDevicePointer number_ = 0;
};

TEST_F(PeersTest, KernelNeedsAccessToTheOtherDevice) {
  start_two();
  EXPECT_EQ(launch("add", {number_, 1}, nullptr), CuResult::kSuccess);
  EXPECT_EQ(cu_.ctx_synchronize(), CuResult::kIllegalAddress);
  EXPECT_THAT(cu_.explain(), HasSubstr("is memory of device 1, to which device 0 has no access"));
}

TEST_F(PeersTest, KernelReachesThePeerOnceAccessIsOn) {
  start_two();
  EXPECT_EQ(cu_.ctx_enable_peer_access(other_, 0), CuResult::kSuccess);
  EXPECT_EQ(cu_.ctx_enable_peer_access(other_, 0), CuResult::kPeerAccessAlreadyEnabled);
  EXPECT_EQ(launch("add", {number_, 1}, nullptr), CuResult::kSuccess);
  EXPECT_EQ(read_int(number_), 2);
  EXPECT_EQ(cu_.ctx_disable_peer_access(other_), CuResult::kSuccess);
}

TEST_F(PeersTest, CopyBetweenDevicesNeedsNoAccess) {
  start_two();
  const CuDevicePointer mine = make_int(0);
  EXPECT_EQ(cu_.memcpy_peer_async(mine, context_, number_, other_, 4, nullptr), CuResult::kSuccess);
  EXPECT_EQ(read_int(mine), 1);
}

TEST_F(PeersTest, CopyBetweenDevicesNamesTheContextsOfItsMemory) {
  start_two();
  const CuDevicePointer mine = make_int(0);
  EXPECT_EQ(cu_.memcpy_peer_async(mine, other_, number_, other_, 4, nullptr),
            CuResult::kInvalidValue);
  EXPECT_THAT(cu_.explain(), HasSubstr("is memory of device 0, its context is of device 1"));
  EXPECT_EQ(cu_.memcpy_dtod_async(mine, number_, 4, nullptr), CuResult::kInvalidValue);
  EXPECT_THAT(cu_.explain(), HasSubstr("from device 1 to device 0; cuMemcpyPeerAsync copies"));
}

TEST_F(PeersTest, CopyFromADeviceThatFailedTellsItsError) {
  start_two();
  const CuDevicePointer mine = make_int(0);
  ASSERT_EQ(cu_.ctx_set_current(other_), CuResult::kSuccess);
  EXPECT_EQ(launch("add", {16, 1}, nullptr), CuResult::kSuccess);
  EXPECT_EQ(cu_.ctx_synchronize(), CuResult::kIllegalAddress);
  ASSERT_EQ(cu_.ctx_set_current(context_), CuResult::kSuccess);
  EXPECT_EQ(cu_.memcpy_peer_async(mine, context_, number_, other_, 4, nullptr),
            CuResult::kIllegalAddress);
  EXPECT_EQ(read_int(mine), 0);
}

TEST_F(PeersTest, ErrorOfOneDeviceLeavesTheOther) {
  start_two();
  EXPECT_EQ(launch("add", {16, 1}, nullptr), CuResult::kSuccess);
  EXPECT_EQ(cu_.ctx_synchronize(), CuResult::kIllegalAddress);
  ASSERT_EQ(cu_.ctx_set_current(other_), CuResult::kSuccess);
  EXPECT_EQ(read_int(number_), 1);
}

}  // namespace
}  // namespace sluice::cuda::emulator
