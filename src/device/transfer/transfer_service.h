// Copies between host and a device's own memory, fair among clients.
#pragma once

#include <memory>
#include <string>

#include "device/transfer/transfer.h"
#include "device/transfer/transfer_lane.h"

namespace sluice::device {

/// Who has the streams of the lanes in reports.
inline constexpr const char* kToDevice = "to device";
inline constexpr const char* kFromDevice = "from device";

/// Devices whose kernels work best on their own memory want transfers; others read and write the
/// callers' memory where it lies.
bool needs_transfers(const backend::DeviceInfo& device);

/// A lane per direction, a queue per client and lane, few blocks in flight per lane: a small copy
/// that comes while a big one runs starts when the blocks in flight have ended.
/// A state machine on its clock and on completions: one thread at a time calls it, and nothing
/// moves but in `step` and `wait`. Its destruction stops it.
class TransferService {
 public:
  /// Takes the lanes' streams from a pool of its own. Fails: as `check`, as the plug-in says of
  /// streams.
  static Result<std::unique_ptr<TransferService>> create(
      std::shared_ptr<const backend::Group> group, const Clock& clock,
      const TransferOptions& options = {}, std::shared_ptr<StreamLedger> ledger = nullptr);
  TransferService(const TransferService&) = delete;
  TransferService& operator=(const TransferService&) = delete;
  ~TransferService();

  /// Copies `weight` times as much as a client of weight 1 while both have work.
  /// Requires: `weight` > 0.
  ClientId add_client(const std::string& name, int weight = 1);
  /// Cancels the client's transfers. Returns when its blocks in flight have ended.
  void remove_client(ClientId client);

  /// Transfers of one client and direction run in order of submission.
  /// Fails: kInvalidArgument     no such client, a negative size, or an address that is null
  ///        kFailedPrecondition  stopped
  Result<TransferId> submit(Transfer transfer);

  /// Ends the transfer with kCancelled, after its blocks in flight; a transfer whose last block is
  /// in flight completes. False if there is no such transfer.
  bool cancel(TransferId id);

  /// Completes blocks that are done and starts the next, without waiting. Returns whether anything
  /// changed.
  bool step();
  /// Waits until a block in flight has ended, or for `timeout_ns`; then acts as `step`.
  /// False if no transfer made progress: none is running, or its block takes longer.
  bool wait(std::int64_t timeout_ns);

  bool is_idle() const;
  /// The streams of both lanes.
  const StreamPool& streams() const { return streams_; }

  /// Cancels all transfers and refuses new ones. Waits for the blocks in flight.
  void stop();

 private:
  TransferService(StreamPool streams, TransferLane to_device, TransferLane from_device,
                  const Clock& clock)
      : streams_(std::move(streams)),
        lanes_{std::move(to_device), std::move(from_device)},
        clock_(clock) {}

  TransferLane& lane(Direction direction) { return lanes_.at(static_cast<std::size_t>(direction)); }
  std::size_t cancel_where(const std::function<bool(const PendingTransfer&)>& is_meant);
  bool step_lanes(std::int64_t timeout_ns);
  static void report(std::vector<FinishedTransfer>& finished);

  StreamPool streams_;
  std::array<TransferLane, 2> lanes_;
  const Clock& clock_;
  std::int32_t num_clients_ = 0;
  std::vector<ClientId> clients_;
  std::uint64_t num_submitted_ = 0;
  bool is_stopped_ = false;
};

}  // namespace sluice::device
