// A copy of bytes between host and device, as a client requests it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/id.h"
#include "base/status.h"

namespace sluice::device {

using ClientId = Id<struct TransferClientTag>;
enum class TransferId : std::uint64_t {};

enum class Direction : std::uint8_t { kToDevice, kFromDevice };

/// Order in which clients' blocks are copied. Under each policy the first block of a client that
/// was idle comes early (TransferQueue).
enum class TransferPolicy : std::uint8_t {
  kWeighted,    ///< the client that has had the fewest bytes for its weight
  kRoundRobin,  ///< clients in turns, a block each
  kDeadline,    ///< the transfer with the earliest deadline
  kStrict,      ///< the transfer with the highest priority
};
std::string_view policy_name(TransferPolicy policy);  ///< "round-robin"
std::optional<TransferPolicy> find_policy(std::string_view name);

struct TransferOptions {
  /// Size of a block. Each block costs a submission, and a new client waits for few blocks.
  std::int64_t block_bytes = std::int64_t{2} << 20;
  /// Blocks of one direction that the device has at a time. With two, the next copy starts without
  /// a thread of the host; a new client waits for them.
  int blocks_in_flight = 2;
  TransferPolicy policy = TransferPolicy::kWeighted;
};

inline constexpr int kMaxBlocksInFlight = 4;

/// Fails: kInvalidArgument for a block size below 1, or blocks in flight that are not between 1 and
/// kMaxBlocksInFlight.
Status check(const TransferOptions& options);

/// How soon a transfer is needed, for the policies that ask.
struct Urgency {
  std::int64_t deadline_ns = kNoDeadline;  ///< of the service's clock
  std::int32_t priority = 0;               ///< a higher one goes first
};

/// The outcome of a transfer. Times are of the service's clock.
struct TransferReport {
  Status status;
  /// Also of an interrupted transfer; so many bytes are in the target.
  std::int64_t copied_bytes = 0;
  std::int64_t queue_ns = 0;  ///< until its first block was submitted
  std::int64_t copy_ns = 0;   ///< from then to its end, including other clients' blocks in between
};

struct Transfer {
  ClientId client;
  Direction direction = Direction::kToDevice;
  const void* source = nullptr;
  void* target = nullptr;  ///< as `source`, borrowed until the report
  std::int64_t size_bytes = 0;
  /// Called once from `step`, `cancel`, `remove_client` or `stop`; may submit and cancel.
  std::function<void(const TransferReport&)> on_done;
  Urgency urgency;
};

}  // namespace sluice::device
