#include "guest/proxy/copy_turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "guest/proxy/testing/emulated_guests.h"
#include "guest/proxy/testing/ring_guest.h"
#include "support/eventually.h"

namespace sluice::guest {
namespace {

using device::TransferPolicy;
using ::sluice::testing::eventually;

constexpr std::uint64_t kSmall = 4096;
constexpr int kUrgent = -1;  // of streams

/// A flag that a thread waits behind.
class Gate {
 public:
  void close() { is_closed_ = true; }
  void open() {
    is_closed_ = false;
    is_closed_.notify_all();
  }
  void pass() const { is_closed_.wait(true); }

 private:
  std::atomic<bool> is_closed_ = false;
};

/// What the driver does, as the test wants it; its functions are plain pointers.
struct Hooks {
  cuda::DriverTable emulated;
  Gate copies;                      ///< in front of each copy to the device
  std::atomic<bool> fails = false;  ///< the next copy to the device
  Gate kernel;                      ///< in front of each wait for the stream `busy`
  std::atomic<cuda::CuStream> busy = nullptr;
  std::atomic<bool> takes_busy = false;  ///< the stream of the next fill is the busy one
  std::mutex mutex;
  std::vector<cuda::CuDevicePointer> targets;  ///< of copies to the device, in their order
};

class CopyTurnsTest : public EmulatedGuests {
 protected:
  ~CopyTurnsTest() override {
    stop();
    hooks = nullptr;
  }

  void change(cuda::DriverTable& table) override {
    own_ = std::make_unique<Hooks>();
    hooks = own_.get();
    hooks->emulated = table;
    table.memcpy_htod_async = [](cuda::CuDevicePointer target, const void* source,
                                 std::size_t bytes, cuda::CuStream stream) {
      {
        const std::lock_guard lock(hooks->mutex);
        hooks->targets.push_back(target);
      }
      hooks->copies.pass();
      if (hooks->fails.exchange(false)) return CuResult::kOutOfMemory;
      return hooks->emulated.memcpy_htod_async(target, source, bytes, stream);
    };
    table.memset_d8_async = [](cuda::CuDevicePointer target, unsigned char value, std::size_t bytes,
                               cuda::CuStream stream) {
      if (hooks->takes_busy.exchange(false)) hooks->busy = stream;
      return hooks->emulated.memset_d8_async(target, value, bytes, stream);
    };
    table.stream_synchronize = [](cuda::CuStream stream) {
      if (stream == hooks->busy) hooks->kernel.pass();
      return hooks->emulated.stream_synchronize(stream);
    };
  }

  /// One copy at a time, so that the order is one.
  void start_with(TransferPolicy policy) {
    start(/*seed=*/1, {.copies = {.blocks_in_flight = 1, .policy = policy}});
  }

  static std::size_t num_copies() {
    const std::lock_guard lock(hooks->mutex);
    return hooks->targets.size();
  }
  bool is_waiting(int guests) {
    return eventually([&] { return device_->copies().num_waiting() == guests; });
  }

  static inline Hooks* hooks = nullptr;

 private:
  std::unique_ptr<Hooks> own_;
};

/// A guest with memory for `pieces` full pieces.
class CopyingGuest : public RingGuest {
 public:
  CopyingGuest(SharedDevice& device, std::uint64_t pieces, int priority = 0)
      : RingGuest(device),
        bytes_(pieces * kMaxPayloadBytes),
        stream_(make(CallKind::kStreamCreate,
                     HandleBody{.flags = cuda::kStreamNonBlocking, .value = priority})),
        memory_(make(CallKind::kAllocate, MemoryBody{.bytes = bytes_})) {}

  /// The first `pieces` of a copy of `bytes` to the start of the memory.
  void post_pieces(std::uint64_t pieces, std::uint64_t bytes) {
    for (std::uint64_t i = 0; i < pieces; ++i) {
      const std::uint64_t at = i * kMaxPayloadBytes;
      const std::uint64_t rest = bytes - at;
      const std::vector<std::byte> payload(std::min<std::uint64_t>(rest, kMaxPayloadBytes));
      post(CallKind::kCopyIn,
           MemoryBody{.target = memory_ + at, .stream = stream_, .rest_bytes = rest}, payload);
    }
  }
  void post_all() { post_pieces(bytes_ / kMaxPayloadBytes, bytes_); }
  void post_small() { post_pieces(1, kSmall); }
  /// Whether all that it posted went well.
  bool wait() {
    const auto reply = ask(CallKind::kStreamWait, HandleBody{.handle = stream_});
    return reply && reply->result == 0 && take_error() == 0;
  }

  bool has(std::uint64_t address) const { return address - memory_ < bytes_; }
  std::uint64_t memory() const { return memory_; }
  std::uint64_t stream() const { return stream_; }

 private:
  const std::uint64_t bytes_;
  const std::uint64_t stream_;
  const std::uint64_t memory_;
};

/// Large copies of guests A and B, small ones of guest S, in the order in which the device got
/// their pieces.
class Order : public CopyTurnsTest {
 protected:
  /// A's first piece is under way when B, then S begin. B's stream is urgent.
  std::string under(TransferPolicy policy) {
    start_with(policy);
    constexpr std::uint64_t kPieces = 4;
    CopyingGuest a(*device_, kPieces);
    CopyingGuest b(*device_, kPieces, kUrgent);
    CopyingGuest s(*device_, 1);
    hooks->copies.close();
    a.post_all();
    EXPECT_TRUE(eventually([&] { return num_copies() == 1; }));
    b.post_all();
    s.post_small();
    EXPECT_TRUE(is_waiting(2));
    hooks->copies.open();
    EXPECT_TRUE(a.wait() && b.wait() && s.wait());
    std::string order;
    for (const auto target : hooks->targets)
      order += a.has(target) ? 'A' : b.has(target) ? 'B' : 'S';
    return order;
  }
};

// Guests have one weight and their pieces one size: these three differ in what guests have not,
// shares and deadlines.
TEST_F(Order, WeightedGivesEachGuestAPieceInItsTurn) {
  EXPECT_EQ(under(TransferPolicy::kWeighted), "ABSABABAB");
}

TEST_F(Order, RoundRobinGivesEachGuestAPieceInItsTurn) {
  EXPECT_EQ(under(TransferPolicy::kRoundRobin), "ABSABABAB");
}

TEST_F(Order, DeadlineGivesGuestsWithoutDeadlinesTheirTurns) {
  EXPECT_EQ(under(TransferPolicy::kDeadline), "ABSABABAB");
}

/// A newcomer has every second turn.
TEST_F(Order, StrictGivesTheUrgentStreamAllTurnsButThoseOfNewcomers) {
  EXPECT_EQ(under(TransferPolicy::kStrict), "ABBSBBAAA");
}

TEST_F(CopyTurnsTest, RestOfACopyThatDoesNotComeHoldsNoTurn) {
  for (const TransferPolicy policy : {TransferPolicy::kWeighted, TransferPolicy::kStrict}) {
    start_with(policy);
    CopyingGuest slow(*device_, /*pieces=*/8, kUrgent);
    CopyingGuest other(*device_, /*pieces=*/8);
    slow.post_pieces(1, 8 * kMaxPayloadBytes);
    other.post_all();
    EXPECT_TRUE(other.wait());
    EXPECT_TRUE(slow.wait());
  }
}

TEST_F(CopyTurnsTest, GuestThatLeavesWithinACopyHoldsNoTurn) {
  start_with(TransferPolicy::kStrict);
  CopyingGuest other(*device_, /*pieces=*/8);
  hooks->copies.close();
  other.post_all();
  ASSERT_TRUE(eventually([&] { return num_copies() == 1; }));
  CopyingGuest leaving(*device_, /*pieces=*/8, kUrgent);
  leaving.post_pieces(2, 8 * kMaxPayloadBytes);
  ASSERT_TRUE(is_waiting(1));
  hooks->copies.open();
  leaving.leave();
  EXPECT_TRUE(other.wait());
  EXPECT_EQ(device_->copies().num_waiting(), 0);
}

TEST_F(CopyTurnsTest, CopyBehindAKernelHoldsNoTurn) {
  start_with(TransferPolicy::kWeighted);
  CopyingGuest behind(*device_, /*pieces=*/2);
  CopyingGuest other(*device_, /*pieces=*/2);
  hooks->kernel.close();
  hooks->takes_busy = true;
  behind.post(CallKind::kFill,  // stands for a kernel that does not end
              MemoryBody{.target = behind.memory(), .bytes = 4, .stream = behind.stream()});
  ASSERT_TRUE(eventually([] { return hooks->busy.load() != nullptr; }));
  behind.post_all();
  for (int i = 0; i < 3; ++i) {
    other.post_all();
    EXPECT_TRUE(other.wait());
  }
  EXPECT_FALSE(std::ranges::any_of(hooks->targets, [&](auto at) { return behind.has(at); }));
  hooks->kernel.open();
  EXPECT_TRUE(behind.wait());
}

TEST_F(CopyTurnsTest, FailedPieceEndsItsCopyAlone) {
  start_with(TransferPolicy::kWeighted);
  CopyingGuest guest(*device_, /*pieces=*/4);
  CopyingGuest other(*device_, /*pieces=*/4);
  hooks->fails = true;
  guest.post_all();
  EXPECT_FALSE(guest.wait());
  guest.post_all();
  other.post_all();
  EXPECT_TRUE(guest.wait());
  EXPECT_TRUE(other.wait());
}

TEST_F(CopyTurnsTest, WholeCopyMustLieInTheGuestsMemory) {
  start_with(TransferPolicy::kWeighted);
  CallingGuest guest(*device_);
  const std::uint64_t memory = guest.make_memory(kSmall);
  for (const std::uint64_t rest : {kSmall + 1, std::uint64_t{1} << 40, UINT64_MAX}) {
    EXPECT_EQ(
        guest.ask(CallKind::kCopyIn, MemoryBody{.target = memory, .rest_bytes = rest}, "four"),
        CuResult::kInvalidValue);
    EXPECT_EQ(
        guest.ask(CallKind::kCopyOut, MemoryBody{.source = memory, .bytes = 4, .rest_bytes = rest}),
        CuResult::kInvalidValue);
  }
  EXPECT_EQ(
      guest.ask(CallKind::kCopyIn, MemoryBody{.target = memory, .rest_bytes = kSmall}, "four"),
      CuResult::kSuccess);
}

TEST_F(CopyTurnsTest, PieceThatIsNotFullIsACopyOfItsOwn) {
  start_with(TransferPolicy::kStrict);
  CallingGuest guest(*device_);
  const std::uint64_t memory = guest.make_memory(kSmall);
  for (std::uint64_t at = 0; at < kSmall; at += 4) {
    ASSERT_EQ(guest.ask(CallKind::kCopyIn,
                        MemoryBody{.target = memory + at, .rest_bytes = kSmall - at}, "four"),
              CuResult::kSuccess);
  }
  // No empty one waits for a turn that never comes.
  EXPECT_EQ(guest.ask(CallKind::kCopyIn, MemoryBody{.target = memory}), CuResult::kSuccess);
}

/// Copies there and back of random sizes, each with bytes of its own.
void copy_at_random(SharedDevice& device, unsigned seed) {
  constexpr std::uint64_t kMost = 3 * kMaxPayloadBytes;
  std::mt19937 random(seed);
  CopyingGuest guest(device, /*pieces=*/3, -static_cast<int>(seed % 3));
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t size = 1 + random() % kMost;
    const auto value = static_cast<std::byte>(random());
    const std::vector<std::byte> bytes(kMaxPayloadBytes, value);
    for (std::uint64_t at = 0; at < size; at += kMaxPayloadBytes) {
      const std::uint64_t rest = size - at;
      guest.post(
          CallKind::kCopyIn,
          MemoryBody{.target = guest.memory() + at, .stream = guest.stream(), .rest_bytes = rest},
          std::span(bytes).first(std::min<std::uint64_t>(rest, kMaxPayloadBytes)));
    }
    for (std::uint64_t at = 0; at < size; at += kMaxPayloadBytes) {
      const std::uint64_t rest = size - at;
      const auto reply = guest.ask(
          CallKind::kCopyOut, MemoryBody{.source = guest.memory() + at,
                                         .bytes = std::min<std::uint64_t>(rest, kMaxPayloadBytes),
                                         .stream = guest.stream(),
                                         .rest_bytes = rest});
      ASSERT_TRUE(reply && reply->result == 0);
      EXPECT_TRUE(std::ranges::all_of(guest.payload_of(*reply),
                                      [&](std::byte one) { return one == value; }));
    }
  }
  EXPECT_EQ(guest.take_error(), 0U);
}

TEST_F(CopyTurnsTest, CopiesOfManyGuestsKeepTheirBytesUnderEachPolicy) {
  for (const TransferPolicy policy : {TransferPolicy::kWeighted, TransferPolicy::kRoundRobin,
                                      TransferPolicy::kDeadline, TransferPolicy::kStrict}) {
    start(/*seed=*/1, {.copies = {.policy = policy}});
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 6; ++seed) {
      threads.emplace_back([this, seed] { copy_at_random(*device_, seed); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(device_->copies().num_waiting(), 0);
  }
}

}  // namespace
}  // namespace sluice::guest
