// Calls of a guest on their way to the proxy, and the answers, in memory that both map.
//
// The proxy makes the memory: a page of control words with the reply, the calls, the bytes of a
// reply. A call is a head of 64 bytes and its payload, rounded up to 64; a record never wraps
// around the end. The guest waits for at most one reply at a time. Calls without a reply leave
// their first error in a word that the guest takes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "guest/wire/calls.h"
#include "shm/ring_layout.h"
#include "shm/spin_habit.h"

namespace sluice::guest {

struct CallHead {
  std::uint32_t record_bytes = 0;  ///< a multiple of 64
  std::uint32_t kind = 0;          ///< a CallKind, or kSkip
  std::uint32_t payload_bytes = 0;
  std::uint32_t sequence = 0;  ///< of the reply; 0: none is wanted
  Body body = {};
};
static_assert(sizeof(CallHead) == 64);

struct Reply {
  std::uint32_t sequence = 0;
  std::int32_t result = 0;  ///< of the driver
  std::uint32_t payload_bytes = 0;
  std::uint32_t zero = 0;
  std::array<std::uint64_t, 4> words = {};
};

struct CallControl {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  shm::RingWord tail;       ///< the guest's: bytes written, modulo 2^32
  shm::RingWord head;       ///< the proxy's: bytes it is done with
  shm::RingWord replied;    ///< the proxy's: sequence of the last reply
  shm::RingWord latched;    ///< first error of calls without a reply; the guest takes it
  shm::RingWord is_closed;  ///< the proxy's: it takes nothing more
  shm::RingBell proxy_bell;
  shm::RingBell guest_bell;
  Reply reply;
};

inline constexpr std::uint64_t kCallMagic = 0x314C4C4143434C53;  // "SLCCALL1"
inline constexpr std::uint32_t kControlBytes = 4096;
inline constexpr std::uint32_t kCallBytes = 4 << 20;  ///< a power of two
/// CallHead::kind of the unused end of the ring.
inline constexpr std::uint32_t kSkip = 0xffffffff;
inline constexpr std::int64_t kSharedBytes = kControlBytes + kCallBytes + kMaxPayloadBytes;
static_assert(sizeof(CallControl) <= kControlBytes);

/// The guest's side. Used by one thread at a time.
class CallSender {
 public:
  /// Fails: kInvalidArgument for memory of another version. `memory` and `socket` outlive the
  /// sender.
  static Result<CallSender> create(std::span<std::byte> memory, int socket);

  /// Waits while the ring is full. False: the proxy is gone.
  /// Requires: payload.size() <= kMaxPayloadBytes.
  bool send(CallKind kind, const Body& body, std::span<const std::byte> payload,
            std::uint32_t sequence);
  /// Waits for the reply. None: the proxy is gone.
  std::optional<Reply> receive(std::uint32_t sequence);
  /// Payload of the last reply, until the next call.
  std::span<const std::byte> reply_payload(const Reply& reply) const;
  /// The first error of calls without a reply since the last time; 0: none.
  std::uint32_t take_latched();

 private:
  CallSender(std::span<std::byte> memory, int socket) : memory_(memory), socket_(socket) {}
  CallControl& control() const { return *reinterpret_cast<CallControl*>(memory_.data()); }
  bool wait_for_room(std::uint32_t bytes);
  void publish(std::uint32_t bytes);
  template <typename IsReady>
  bool wait_until(const IsReady& is_ready);

  std::span<std::byte> memory_;
  int socket_;
  std::uint32_t tail_ = 0;
  shm::SpinHabit habit_;
};

struct Call {
  CallKind kind = CallKind::kCount;
  std::uint32_t sequence = 0;
  Body body = {};
  /// In shared memory, until the next `take`: the guest may change the bytes at any time.
  std::span<const std::byte> payload;
};

/// The proxy's side. Treats the guest as hostile: reads every shared word once, and checks the
/// copy. Used by one thread at a time.
class CallReceiver {
 public:
  /// Formats the memory. Requires: zeroed, kSharedBytes.
  explicit CallReceiver(std::span<std::byte> memory);

  enum class Take { kCall, kNone, kBroken };
  /// The next call; the one before is done.
  Take take(Call& to);
  /// Spins for a moment. Returns whether there is a call.
  bool spin();
  /// Sleeps until there is a call, or `sleep_ns` have passed; may return for no reason.
  void wait(std::int64_t sleep_ns);
  /// Where the payload of the next reply goes; kMaxPayloadBytes.
  std::span<std::byte> reply_room() const;
  void reply(const Reply& reply);
  /// Keeps the first error until the guest takes it.
  void latch(std::uint32_t error);
  void close();

 private:
  CallControl& control() const { return *reinterpret_cast<CallControl*>(memory_.data()); }
  bool has_call() const;
  void release();

  std::span<std::byte> memory_;
  std::uint32_t head_ = 0;      ///< where the next record begins
  std::uint32_t released_ = 0;  ///< told to the guest
  shm::SpinHabit habit_;
};

/// Whether the other end of a connected socket is there. Does not block.
bool is_connected(int socket);

}  // namespace sluice::guest
