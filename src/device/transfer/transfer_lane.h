// Copies the blocks of one direction between host and device.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "backend/command_list.h"
#include "base/clock.h"
#include "device/stream/stream_pool.h"
#include "device/transfer/transfer_queue.h"

namespace sluice::device {

/// Keeps as many blocks of a TransferQueue in flight as it has streams: a stream copies one at a
/// time, so that the end of each is seen. Driven by one thread.
class TransferLane {
 public:
  /// Requires: `streams` is not empty; all are of `group`.
  TransferLane(std::shared_ptr<const backend::Group> group, std::vector<PooledStream> streams,
               const TransferOptions& options);

  TransferQueue& queue() { return queue_; }
  const TransferQueue& queue() const { return queue_; }
  bool is_copying() const { return !in_flight_.empty(); }

  /// Waits up to `timeout_ns` (below 0: indefinitely) for the oldest block in flight, and starts
  /// the next ones. Returns whether anything changed; ended transfers are added to `finished`.
  bool step(const Clock& clock, std::int64_t timeout_ns, std::vector<FinishedTransfer>& finished);

 private:
  struct Copier {
    std::map<std::int64_t, backend::CommandList> lists;  // by size; outlive the stream's work
    PooledStream stream;
  };
  struct Flight {
    TransferBlock block;
    std::optional<std::size_t> copier;  ///< none: nothing to wait for
    Status submitted;
  };

  bool poll_blocks(const Clock& clock, std::int64_t timeout_ns,
                   std::vector<FinishedTransfer>& finished);
  bool start_blocks(const Clock& clock);
  Flight start(const TransferBlock& block);
  Status submit(Copier& copier, const TransferBlock& block);
  Result<const backend::CommandList*> copy_list(Copier& copier, std::int64_t size_bytes);

  std::shared_ptr<const backend::Group> group_;
  TransferQueue queue_;
  std::vector<Copier> copiers_;
  std::vector<std::size_t> free_copiers_;
  std::deque<Flight> in_flight_;  ///< oldest first
};

}  // namespace sluice::device
