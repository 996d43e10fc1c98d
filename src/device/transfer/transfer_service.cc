#include "device/transfer/transfer_service.h"

#include <algorithm>
#include <utility>

namespace sluice::device {

bool needs_transfers(const backend::DeviceInfo& device) {
  return device.has_own_memory || !device.has_host_memory;
}

Result<std::unique_ptr<TransferService>> TransferService::create(
    std::shared_ptr<const backend::Group> group, const Clock& clock, const TransferOptions& options,
    std::shared_ptr<StreamLedger> ledger) {
  SLUICE_TRY(check(options));
  // A stream per block in flight: a stream runs its blocks one after another.
  const auto num_streams = static_cast<std::size_t>(options.blocks_in_flight);
  StreamPool streams =
      SLUICE_TRY(StreamPool::create(group, {.made_ahead = 2 * num_streams}, std::move(ledger)));
  const auto lane = [&](const char* name) -> Result<TransferLane> {
    std::vector<PooledStream> taken;
    while (taken.size() < num_streams) taken.push_back(SLUICE_TRY(streams.take(name)));
    return TransferLane(group, std::move(taken), options);
  };
  auto to_device = SLUICE_TRY(lane(kToDevice));
  auto from_device = SLUICE_TRY(lane(kFromDevice));
  return std::unique_ptr<TransferService>(
      new TransferService(std::move(streams), std::move(to_device), std::move(from_device), clock));
}

TransferService::~TransferService() { stop(); }

ClientId TransferService::add_client(const std::string& name, int weight) {
  const ClientId client(num_clients_++);
  for (TransferLane& lane : lanes_) lane.queue().add_client(client, name, weight);
  clients_.push_back(client);
  return client;
}

void TransferService::remove_client(ClientId client) {
  const auto is_its = [&](const PendingTransfer& pending) {
    return pending.transfer.client == client;
  };
  std::erase(clients_, client);  // callbacks of this client can no longer submit
  // A transfer with blocks in flight is counted again until these have ended.
  while (cancel_where(is_its) > 0) step_lanes(-1);
  for (TransferLane& lane : lanes_) lane.queue().remove_client(client);
}

Result<TransferId> TransferService::submit(Transfer transfer) {
  if (is_stopped_) return make_error(Code::kFailedPrecondition, "the transfer service was stopped");
  // Also refuses callbacks of a client that is being removed.
  if (std::ranges::find(clients_, transfer.client) == clients_.end()) {
    return invalid_argument("transfers: client {} does not exist", transfer.client.value());
  }
  const bool has_memory = transfer.source != nullptr && transfer.target != nullptr;
  if (transfer.size_bytes < 0 || (transfer.size_bytes > 0 && !has_memory)) {
    return invalid_argument("transfers: {} bytes from {} to {} cannot be copied",
                            transfer.size_bytes, transfer.source,
                            static_cast<const void*>(transfer.target));
  }
  PendingTransfer pending;
  pending.id = TransferId{++num_submitted_};
  pending.submitted_ns = clock_.now_ns();
  const TransferId id = pending.id;
  TransferLane& target = lane(transfer.direction);
  pending.transfer = std::move(transfer);
  target.queue().push(std::move(pending));
  return id;
}

bool TransferService::cancel(TransferId id) {
  return cancel_where([&](const PendingTransfer& pending) { return pending.id == id; }) > 0;
}

bool TransferService::step() { return step_lanes(0); }

bool TransferService::wait(std::int64_t timeout_ns) {
  // Looks once without waiting: a transfer may have ended already.
  if (step()) return true;
  return step_lanes(timeout_ns);
}

bool TransferService::is_idle() const {
  return std::ranges::none_of(lanes_,
                              [](const TransferLane& lane) { return lane.queue().has_work(); });
}

void TransferService::stop() {
  is_stopped_ = true;
  while (cancel_where([](const PendingTransfer&) { return true; }) > 0) step_lanes(-1);
}

std::size_t TransferService::cancel_where(
    const std::function<bool(const PendingTransfer&)>& is_meant) {
  std::vector<FinishedTransfer> finished;
  std::size_t num_cancelled = 0;
  for (TransferLane& lane : lanes_) {
    num_cancelled += lane.queue().cancel(is_meant, clock_.now_ns(), finished);
  }
  report(finished);
  return num_cancelled;
}

/// Waits only for the first lane with a running block, then polls the other.
bool TransferService::step_lanes(std::int64_t timeout_ns) {
  std::vector<FinishedTransfer> finished;
  bool has_moved = false;
  for (TransferLane& lane : lanes_) {
    const bool is_first = lane.is_copying() && !has_moved;
    has_moved |= lane.step(clock_, is_first ? timeout_ns : 0, finished);
  }
  report(finished);
  return has_moved;
}

// Callbacks run last, on a list that the lanes no longer refer to: they may submit and cancel.
void TransferService::report(std::vector<FinishedTransfer>& finished) {
  for (FinishedTransfer& transfer : finished) {
    if (transfer.on_done) transfer.on_done(transfer.report);
  }
}

}  // namespace sluice::device
