// A copy of bytes between host and device, as a client requests it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/id.h"
#include "base/status.h"

namespace sluice::device {

using ClientId = Id<struct TransferClientTag>;
enum class TransferId : std::uint64_t {};

enum class Direction : std::uint8_t { kToDevice, kFromDevice };

/// The outcome of a transfer. Times are of the service's clock.
struct TransferReport {
  Status status;
  std::int64_t copied_bytes =
      0;                      ///< also of an interrupted transfer; these bytes are in the target
  std::int64_t queue_ns = 0;  ///< until its first block started
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
};

}  // namespace sluice::device
