// Copies between host and a device's own memory, fair among clients.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "device/transfer.h"
#include "device/transfer_lane.h"

namespace sluice::device {

struct TransferOptions {
  /// Size of a block. A new client waits for about one block, and each block costs a submission.
  std::int64_t block_bytes = std::int64_t{2} << 20;
};

/// Devices whose kernels work best on their own memory want transfers; others read and write the
/// callers' memory where it lies.
bool needs_transfers(const backend::DeviceInfo& device);

/// A lane per direction, a queue per client and lane, one block under way per lane: a small copy
/// that comes while a big one runs starts when the block that is being copied has ended.
/// A state machine on its clock and on completions: one thread at a time calls it, and nothing
/// moves but in `step` and `wait`. Its destruction stops it.
class TransferService {
 public:
  /// Fails: kInvalidArgument for a block size below 1; as the plug-in says of streams.
  static Result<std::unique_ptr<TransferService>> create(
      std::shared_ptr<const backend::Group> group, const Clock& clock,
      const TransferOptions& options = {});
  TransferService(const TransferService&) = delete;
  TransferService& operator=(const TransferService&) = delete;
  ~TransferService();

  /// Copies `weight` times as much as a client of weight 1 while both have work.
  /// Requires: `weight` > 0.
  ClientId add_client(const std::string& name, int weight = 1);
  /// Cancels the client's transfers. Returns when the block being copied for it, if any, has ended.
  void remove_client(ClientId client);

  /// Transfers of one client and direction run in order of submission.
  /// Fails: kInvalidArgument     no such client, a negative size, or an address that is null
  ///        kFailedPrecondition  stopped
  Result<TransferId> submit(Transfer transfer);

  /// Ends the transfer with kCancelled, after the block that is being copied, if any; a transfer
  /// whose last block is being copied completes. False if there is no such transfer.
  bool cancel(TransferId id);

  /// Completes blocks that are done and starts the next, without waiting. Returns whether anything
  /// changed.
  bool step();
  /// Waits until a block that is being copied has ended, or for `timeout_ns`; then acts as `step`.
  /// False if no transfer made progress: none is running, or its block takes longer.
  bool wait(std::int64_t timeout_ns);

  bool is_idle() const;

  /// Cancels all transfers and refuses new ones. Waits for the blocks being copied.
  void stop();

 private:
  TransferService(TransferLane to_device, TransferLane from_device, const Clock& clock)
      : lanes_{std::move(to_device), std::move(from_device)}, clock_(clock) {}

  TransferLane& lane(Direction direction) { return lanes_.at(static_cast<std::size_t>(direction)); }
  std::size_t cancel_where(const std::function<bool(const PendingTransfer&)>& is_meant);
  bool step_lanes(std::int64_t timeout_ns);
  static void report(std::vector<FinishedTransfer>& finished);

  std::array<TransferLane, 2> lanes_;
  const Clock& clock_;
  std::int32_t num_clients_ = 0;
  std::vector<ClientId> clients_;
  std::uint64_t num_submitted_ = 0;
  bool is_stopped_ = false;
};

/// Copies and waits, driving `service`; no other thread may drive it meanwhile.
Status transfer_and_wait(TransferService& service, Transfer transfer);

}  // namespace sluice::device
