#include "device/transfer/shared_transfers.h"

#include <utility>

namespace sluice::device {
namespace {

/// A waiting thread holds the lock for at most this long, so that other threads can submit.
constexpr std::int64_t kWaitSliceNs = 100'000;

}  // namespace

Result<std::shared_ptr<SharedTransfers>> SharedTransfers::create(
    const std::shared_ptr<const backend::Backend>& backend, int device, const Clock& clock,
    const TransferOptions& options, std::shared_ptr<StreamLedger> ledger) {
  auto group = SLUICE_TRY(backend::Group::create(backend, device, {}));
  auto service =
      SLUICE_TRY(TransferService::create(std::move(group), clock, options, std::move(ledger)));
  return std::shared_ptr<SharedTransfers>(new SharedTransfers(std::move(service)));
}

std::shared_ptr<SharedTransfers::Client> SharedTransfers::add_client(
    const std::shared_ptr<SharedTransfers>& transfers, const std::string& name, int weight) {
  const std::lock_guard lock(transfers->mutex_);
  const ClientId id = transfers->service_->add_client(name, weight);
  return std::make_shared<Client>(transfers, id);
}

SharedTransfers::Client::~Client() {
  const std::lock_guard lock(owner_->mutex_);
  owner_->service_->remove_client(id_);
}

SharedTransfers::Batch::~Batch() {
  cancel();
  static_cast<void>(wait().is_ok());  // no caller is left to take the status
}

Status SharedTransfers::Batch::start(Direction direction, std::span<const Copy> copies,
                                     const Urgency& urgency) {
  SharedTransfers& owner = *client_->owner_;
  const std::lock_guard lock(owner.mutex_);
  state_ = {};
  ids_.clear();
  // Callbacks run under the owner's mutex, in whichever thread drives the service. `this` stays
  // valid: the destructor waits for the last callback.
  for (const Copy& copy : copies) {
    const auto on_done = [this](const TransferReport& report) {
      --state_.num_pending;
      if (state_.first_error.is_ok()) state_.first_error = report.status;
    };
    ids_.push_back(SLUICE_TRY(owner.service_->submit(
        {client_->id_, direction, copy.source, copy.target, copy.size_bytes, on_done, urgency})));
    ++state_.num_pending;
  }
  owner.service_->step();
  return ok_status();
}

/// Requires: the owner's mutex.
Result<bool> SharedTransfers::Batch::result() const {
  if (state_.num_pending > 0) return false;
  SLUICE_TRY(Status(state_.first_error));
  return true;
}

Result<bool> SharedTransfers::Batch::poll() {
  SharedTransfers& owner = *client_->owner_;
  const std::lock_guard lock(owner.mutex_);
  owner.service_->step();
  return result();
}

Status SharedTransfers::Batch::wait(const std::stop_token& stop) {
  SharedTransfers& owner = *client_->owner_;
  // The lock is taken anew in every turn, so that threads waiting for it can submit or poll in
  // between.
  for (bool is_stopping = false;;) {
    const std::lock_guard lock(owner.mutex_);
    if (SLUICE_TRY(result())) return ok_status();
    if (!is_stopping && stop.stop_requested()) {
      is_stopping = true;
      cancel_locked();
    }
    owner.service_->wait(kWaitSliceNs);
  }
}

void SharedTransfers::Batch::cancel() {
  const std::lock_guard lock(client_->owner_->mutex_);
  cancel_locked();
}

void SharedTransfers::Batch::cancel_locked() {
  for (const TransferId id : ids_) client_->owner_->service_->cancel(id);
}

}  // namespace sluice::device
