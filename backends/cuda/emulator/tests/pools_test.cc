// Memory in the order of streams.

#include "emulator/testing/emulator_test.h"

namespace sluice::cuda::emulator {
namespace {

using ::testing::HasSubstr;

class PoolsTest : public EmulatorTest {
 protected:
  void start_pool(std::uint64_t seed = 1) {
    start_with_seed(seed);
    CuMemoryPoolProperties properties = {};
    properties.allocation_type = CuAllocationType::kPinned;
    properties.location = {CuLocationType::kDevice, 0};
    ASSERT_EQ(cu_.mem_pool_create(&pool_, &properties), CuResult::kSuccess);
  }
  CuDevicePointer allocate(std::size_t bytes, CuStream stream) {
    CuDevicePointer address = 0;
    EXPECT_EQ(cu_.mem_alloc_from_pool_async(&address, bytes, pool_, stream), CuResult::kSuccess);
    return address;
  }
  std::uint64_t get(CuMemoryPoolAttribute attribute) {
    std::uint64_t value = 0;
    EXPECT_EQ(cu_.mem_pool_get_attribute(pool_, attribute, &value), CuResult::kSuccess);
    return value;
  }
  std::uint64_t reserved() { return get(CuMemoryPoolAttribute::kReservedCurrent); }
  std::uint64_t used() { return get(CuMemoryPoolAttribute::kUsedCurrent); }
  void set_threshold(std::uint64_t bytes) {
    EXPECT_EQ(cu_.mem_pool_set_attribute(pool_, CuMemoryPoolAttribute::kReleaseThreshold, &bytes),
              CuResult::kSuccess);
  }
  CuMemoryPool pool_ = nullptr;
};

TEST_F(PoolsTest, FreedBlockServesItsOwnStreamAtOnce) {
  start_pool();
  const CuStream stream = make_stream();
  const CuDevicePointer first = allocate(4096, stream);
  EXPECT_EQ(cu_.mem_free_async(first, stream), CuResult::kSuccess);
  const CuDevicePointer second = allocate(4096, stream);
  EXPECT_NE(first, second);  // so that a use of the first is found
  EXPECT_EQ(reserved(), 4096U);
  EXPECT_EQ(used(), 4096U);
}

TEST_F(PoolsTest, OtherStreamReservesUntilTheFreeHasRun) {
  start_pool();
  const CuStream one = make_stream();
  const CuStream two = make_stream();
  set_threshold(1 << 20);
  EXPECT_EQ(cu_.mem_free_async(allocate(4096, one), one), CuResult::kSuccess);
  const CuDevicePointer early = allocate(4096, two);
  EXPECT_EQ(reserved(), 8192U);
  EXPECT_EQ(cu_.mem_free_async(early, two), CuResult::kSuccess);
  EXPECT_EQ(cu_.ctx_synchronize(), CuResult::kSuccess);
  allocate(4096, two);
  allocate(4096, two);
  EXPECT_EQ(reserved(), 8192U);
}

TEST_F(PoolsTest, SynchronisationReleasesBeyondTheThreshold) {
  start_pool();
  const CuStream stream = make_stream();
  set_threshold(4096);
  for (const CuDevicePointer address : {allocate(4096, stream), allocate(4096, stream)}) {
    EXPECT_EQ(cu_.mem_free_async(address, stream), CuResult::kSuccess);
  }
  EXPECT_EQ(reserved(), 8192U);
  EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kSuccess);
  EXPECT_EQ(reserved(), 4096U);
  EXPECT_EQ(get(CuMemoryPoolAttribute::kUsedHigh), 8192U);
}

TEST_F(PoolsTest, TrimLeavesFreesThatTheHostHasNotSeen) {
  start_pool();
  const CuStream stream = make_stream();
  set_threshold(1 << 20);
  EXPECT_EQ(cu_.mem_free_async(allocate(4096, stream), stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.mem_pool_trim_to(pool_, 0), CuResult::kSuccess);
  EXPECT_EQ(reserved(), 4096U);
  EXPECT_EQ(cu_.stream_synchronize(stream), CuResult::kSuccess);
  EXPECT_EQ(cu_.mem_pool_trim_to(pool_, 0), CuResult::kSuccess);
  EXPECT_EQ(reserved(), 0U);
}

TEST_F(PoolsTest, UseInAnotherStreamWithoutAWaitIsFoundInSomeOrder) {
  int num_found = 0;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    start_pool(seed);
    const CuStream owner = make_stream();
    const CuStream user = make_stream();
    const CuDevicePointer number = allocate(4, owner);
    EXPECT_EQ(launch("add", {number, 1}, user), CuResult::kSuccess);
    const CuResult result = cu_.ctx_synchronize();
    if (result == CuResult::kSuccess) continue;
    EXPECT_THAT(cu_.explain(), HasSubstr("has not happened yet in its stream"));
    ++num_found;
  }
  EXPECT_GT(num_found, 0);
}

TEST_F(PoolsTest, SecondFreeIsRefused) {
  start_pool();
  const CuDevicePointer address = allocate(64, nullptr);
  EXPECT_EQ(cu_.mem_free_async(address, nullptr), CuResult::kSuccess);
  EXPECT_EQ(cu_.mem_free_async(address, nullptr), CuResult::kInvalidValue);
}

TEST_F(PoolsTest, PoolMemoryCountsOnTheDevice) {
  start_pool();
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  EXPECT_EQ(cu_.mem_get_info(&before, &total), CuResult::kSuccess);
  const CuDevicePointer address = allocate(4096, nullptr);
  EXPECT_EQ(cu_.mem_get_info(&after, &total), CuResult::kSuccess);
  EXPECT_EQ(before - after, 4096U);
  EXPECT_EQ(cu_.mem_free_async(address, nullptr), CuResult::kSuccess);
  EXPECT_EQ(cu_.stream_synchronize(nullptr), CuResult::kSuccess);
  EXPECT_EQ(cu_.mem_get_info(&after, &total), CuResult::kSuccess);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace sluice::cuda::emulator
