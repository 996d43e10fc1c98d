#include "guest/proxy/memory_offers.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "guest/proxy/testing/emulated_guests.h"

namespace sluice::guest {
namespace {

constexpr std::uint64_t kOffered = 1 << 20;
constexpr int kGiven = 9;

class OffersTest : public EmulatedGuests {
 protected:
  void SetUp() override {
    start();
    giver_.emplace(*device_);
    taker_.emplace(*device_, GuestLimits{.memory_bytes = 2 * kOffered});
    address_ = giver_->make_memory(kOffered);
  }
  /// The guests end before their device.
  void TearDown() override {
    giver_.reset();
    taker_.reset();
  }
  std::string offer() {
    EXPECT_EQ(giver_->ask(CallKind::kMemoryOffer, MemoryBody{.target = address_}),
              CuResult::kSuccess);
    return {reinterpret_cast<const char*>(giver_->answer.room.data()),
            giver_->answer.payload_bytes};
  }
  CuResult open(const std::string& key) {
    return taker_->ask(CallKind::kMemoryOpen, HandleBody{}, key);
  }
  CuResult close() { return taker_->ask(CallKind::kMemoryClose, MemoryBody{.target = address_}); }

  std::optional<CallingGuest> giver_;
  std::optional<CallingGuest> taker_;
  std::uint64_t address_ = 0;
};

TEST_F(OffersTest, OpenedMemoryIsThatOfTheOtherGuestByItsAddress) {
  EXPECT_EQ(taker_->fill(address_, kGiven, kDefaultStream), CuResult::kInvalidValue);
  ASSERT_EQ(open(offer()), CuResult::kSuccess);
  EXPECT_EQ(taker_->answer.words[0], address_);
  EXPECT_EQ(taker_->answer.words[1], kOffered);
  ASSERT_EQ(taker_->fill(address_, kGiven, kDefaultStream), CuResult::kSuccess);
  ASSERT_EQ(taker_->ask(CallKind::kDeviceWait, HandleBody{}), CuResult::kSuccess);
  EXPECT_EQ(giver_->read(address_, kDefaultStream), kGiven);
  ASSERT_EQ(close(), CuResult::kSuccess);
  EXPECT_EQ(taker_->fill(address_, kGiven, kDefaultStream), CuResult::kInvalidValue);
}

TEST_F(OffersTest, MemoryLastsUntilItsLastHolderLeaves) {
  CallingGuest neighbour(*device_);
  const std::uint64_t free_before = neighbour.free_bytes();
  ASSERT_EQ(giver_->fill(address_, kGiven, kDefaultStream), CuResult::kSuccess);
  const std::string key = offer();
  ASSERT_EQ(open(key), CuResult::kSuccess);
  giver_->leave();
  EXPECT_EQ(taker_->read(address_, kDefaultStream), kGiven);
  EXPECT_EQ(neighbour.free_bytes(), free_before);
  taker_->leave();
  EXPECT_EQ(neighbour.free_bytes(), free_before + kOffered);
  EXPECT_EQ(neighbour.ask(CallKind::kMemoryOpen, HandleBody{}, key), CuResult::kInvalidHandle);
}

TEST_F(OffersTest, OwnersFreeLeavesTheMemoryToWhoOpenedIt) {
  ASSERT_EQ(open(offer()), CuResult::kSuccess);
  ASSERT_EQ(giver_->ask(CallKind::kFree, MemoryBody{.target = address_}), CuResult::kSuccess);
  EXPECT_EQ(giver_->fill(address_, kGiven, kDefaultStream), CuResult::kInvalidValue);
  EXPECT_EQ(taker_->fill(address_, kGiven, kDefaultStream), CuResult::kSuccess);
  EXPECT_EQ(taker_->read(address_, kDefaultStream), kGiven);
}

TEST_F(OffersTest, OpenedMemoryCountsForWhoOpenedItUntilItsLastClose) {
  const std::string key = offer();
  ASSERT_EQ(open(key), CuResult::kSuccess);
  ASSERT_EQ(open(key), CuResult::kSuccess);
  EXPECT_EQ(taker_->free_bytes(), kOffered);
  EXPECT_EQ(close(), CuResult::kSuccess);
  EXPECT_EQ(taker_->free_bytes(), kOffered);
  EXPECT_EQ(close(), CuResult::kSuccess);
  EXPECT_EQ(taker_->free_bytes(), 2 * kOffered);
  EXPECT_EQ(close(), CuResult::kInvalidValue);
  taker_->make_memory(kOffered + 512);
  EXPECT_EQ(open(key), CuResult::kOutOfMemory);
}

TEST_F(OffersTest, WrongKeysAndForeignMemoryAreRefused) {
  const std::string key = offer();
  EXPECT_EQ(open(key.substr(1)), CuResult::kInvalidHandle);
  EXPECT_EQ(open(""), CuResult::kInvalidHandle);
  EXPECT_EQ(open(std::string(kMaxKeyBytes + 1, 'a')), CuResult::kInvalidValue);
  EXPECT_EQ(giver_->ask(CallKind::kMemoryOpen, HandleBody{}, key), CuResult::kInvalidContext);
  EXPECT_EQ(taker_->ask(CallKind::kMemoryOffer, MemoryBody{.target = address_}),
            CuResult::kInvalidValue);
  ASSERT_EQ(open(key), CuResult::kSuccess);
  EXPECT_EQ(taker_->ask(CallKind::kMemoryOffer, MemoryBody{.target = address_}),
            CuResult::kInvalidValue);
  EXPECT_EQ(taker_->ask(CallKind::kFree, MemoryBody{.target = address_}), CuResult::kInvalidValue);
  const std::uint64_t in_order =
      giver_->make(CallKind::kAllocateInOrder, MemoryBody{.bytes = kOffered});
  EXPECT_EQ(giver_->ask(CallKind::kMemoryOffer, MemoryBody{.target = in_order}),
            CuResult::kInvalidValue);
}

}  // namespace
}  // namespace sluice::guest
