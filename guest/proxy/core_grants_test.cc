#include "guest/proxy/core_grants.h"

#include <gtest/gtest.h>

#include <set>

#include "guest/proxy/testing/emulated_guests.h"

namespace sluice::guest {
namespace {

constexpr std::uint32_t kNumBlocks = 64;
constexpr std::size_t kNumCores = 16;  // of the emulated device, in units of 2

/// A kernel `where`: each block writes the number of its multiprocessor.
std::string where_code() {
  return make_fatbin(R"(.version 7.8
.target sm_75
.address_size 64
.visible .entry where(.param .u64 to) {
  .reg .b32 %r<3>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [to];
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  mov.u32 %r2, %smid;
  st.global.u32 [%rd3], %r2;
  ret;
}
)");
}

class CoreGrantsTest : public EmulatedGuests {
 protected:
  void SetUp() override { start(); }

  static CuResult take(CallingGuest& guest, std::int32_t num_cores) {
    return guest.ask(CallKind::kCoresTake, HandleBody{.value = num_cores});
  }
  static std::set<std::uint32_t> where_blocks_run(CallingGuest& guest, std::uint64_t stream) {
    const std::uint64_t memory = guest.make_memory(kNumBlocks * 4);
    EXPECT_EQ(guest.load(where_code(), /*has_variables=*/false), CuResult::kSuccess);
    EXPECT_EQ(
        guest.ask(CallKind::kKernelFind, HandleBody{.handle = guest.answer.words[0]}, "where"),
        CuResult::kSuccess);
    KernelFacts facts;
    std::memcpy(&facts, guest.answer.room.data(), sizeof(facts));
    std::string parameters;
    append(parameters, memory);
    EXPECT_EQ(guest.ask(CallKind::kLaunch,
                        LaunchBody{.kernel = facts.kernel,
                                   .stream = stream,
                                   .grid = {kNumBlocks, 1, 1},
                                   .block = {1, 1, 1}},
                        parameters),
              CuResult::kSuccess);
    EXPECT_EQ(guest.ask(CallKind::kCopyOut,
                        MemoryBody{.source = memory, .bytes = kNumBlocks * 4, .stream = stream}),
              CuResult::kSuccess);
    std::array<std::uint32_t, kNumBlocks> seen = {};
    std::memcpy(seen.data(), guest.answer.room.data(), sizeof(seen));
    return {seen.begin(), seen.end()};
  }
};

TEST_F(CoreGrantsTest, GuestsRunOnMultiprocessorsOfTheirOwn) {
  CallingGuest one(*device_);
  CallingGuest other(*device_);
  CallingGuest plain(*device_);
  ASSERT_EQ(take(one, 3), CuResult::kSuccess);
  EXPECT_EQ(one.answer.words[0], 4U);  // whole units
  ASSERT_EQ(take(other, 4), CuResult::kSuccess);
  std::set<std::uint32_t> all = where_blocks_run(one, kDefaultStream);
  EXPECT_EQ(all.size(), 4U);
  all.merge(where_blocks_run(other, other.make_stream()));
  EXPECT_EQ(all.size(), 8U);
  EXPECT_EQ(where_blocks_run(plain, kDefaultStream).size(), kNumCores);
}

TEST_F(CoreGrantsTest, MultiprocessorsAreFreeAgainBehindTheirGuest) {
  CallingGuest one(*device_);
  CallingGuest other(*device_);
  ASSERT_EQ(take(one, 12), CuResult::kSuccess);
  EXPECT_EQ(take(other, 6), CuResult::kInvalidResourceConfiguration);
  EXPECT_EQ(where_blocks_run(other, kDefaultStream).size(), kNumCores);
  one.leave();
  ASSERT_EQ(take(other, 6), CuResult::kSuccess);
  EXPECT_EQ(where_blocks_run(other, kDefaultStream).size(), 6U);
}

TEST_F(CoreGrantsTest, GuestIsToldTheMultiprocessorsThatItHas) {
  CallingGuest guest(*device_);
  ASSERT_EQ(take(guest, 6), CuResult::kSuccess);
  ASSERT_EQ(guest.ask(CallKind::kDeviceFacts, HandleBody{}), CuResult::kSuccess);
  DeviceFacts facts;
  std::memcpy(&facts, guest.answer.room.data(), sizeof(facts));
  constexpr auto kCount = static_cast<std::size_t>(cuda::CuDeviceAttribute::kMultiprocessorCount);
  EXPECT_EQ(facts.attributes.at(kCount), 6);
}

TEST_F(CoreGrantsTest, WrongNumbersAndLateCallsAreRefused) {
  CallingGuest guest(*device_);
  for (const std::int32_t wrong : {0, -1, INT32_MIN}) {
    EXPECT_EQ(take(guest, wrong), CuResult::kInvalidValue) << wrong;
  }
  EXPECT_EQ(take(guest, INT32_MAX), CuResult::kInvalidResourceConfiguration);
  ASSERT_EQ(take(guest, 16), CuResult::kSuccess);
  EXPECT_EQ(take(guest, 2), CuResult::kInvalidValue);
  EXPECT_EQ(where_blocks_run(guest, kDefaultStream).size(), kNumCores);
  CallingGuest late(*device_);
  late.make_stream();
  EXPECT_EQ(take(late, 2), CuResult::kInvalidValue);
}

TEST_F(CoreGrantsTest, StreamsOfAGrantWaitForEachOther) {
  CallingGuest guest(*device_);
  ASSERT_EQ(take(guest, 2), CuResult::kSuccess);
  const std::uint64_t memory = guest.make_memory(4);
  const std::uint64_t stream = guest.make_stream();
  ASSERT_EQ(guest.fill(memory, 7, stream), CuResult::kSuccess);
  EXPECT_EQ(guest.read(memory, kDefaultStream), 7);
}

}  // namespace
}  // namespace sluice::guest
