#include "sandbox/exchange_table.h"

#include "base/system/secret.h"

namespace sluice::sandbox {

using terms::runtime_error;

namespace {

Status owner_has_ended() {
  return runtime_error(RuntimeCode::kCancelled,
                       "the session has ended: the exchange takes no more");
}

}  // namespace

void ExchangeTable::add(OwnerId owner, std::shared_ptr<ByteBudget> payer) {
  std::shared_ptr<Counts>& counts = counts_[owner];
  if (counts != nullptr) return;
  counts = std::make_shared<Counts>();
  counts->payer = std::move(payer);
}

Result<ExchangeTable::Room> ExchangeTable::reserve(OwnerId owner, std::int64_t bytes,
                                                   const ExchangeLimits& limits, RoomKind kind) {
  const auto it = counts_.find(owner);
  if (it == counts_.end()) return owner_has_ended();
  const std::shared_ptr<Counts>& counts = it->second;
  const int num_tensors = kind == RoomKind::kTensor ? 1 : 0;
  if (counts->num_tensors + num_tensors > limits.max_tensors ||
      bytes > limits.max_bytes - counts->bytes) {
    return runtime_error(
        RuntimeCode::kOutOfResources,
        "the exchange holds {} tensors of {} bytes for this session, at most {} "
        "of {} bytes; {} more do not fit: {}",
        counts->num_tensors.load(), counts->bytes.load(), limits.max_tensors, limits.max_bytes,
        bytes,
        kind == RoomKind::kTensor ? "remove some, or give them less time" : "end some sequences");
  }
  ByteCharge charge;
  if (counts->payer != nullptr) {
    auto taken = ByteCharge::take(counts->payer, bytes).with_context("the exchange");
    if (!taken.is_ok()) {
      return terms::with_runtime_code(taken.status(), RuntimeCode::kOutOfResources);
    }
    charge = std::move(*taken);
  }
  // Before the counts: without memory nothing is taken.
  const auto paid = std::make_shared<ByteCharge>(std::move(charge));
  counts->bytes += bytes;
  counts->num_tensors += num_tensors;
  // The deleter gives the room back, whoever drops the last copy.
  return Room(counts.get(), [counts, paid, bytes, num_tensors](const void* /*same*/) {
    counts->bytes -= bytes;
    counts->num_tensors -= num_tensors;
  });
}

Result<terms::TensorIndex> ExchangeTable::put(OwnerId owner, terms::OutputTensor tensor,
                                              std::int64_t expires_ns,
                                              const ExchangeLimits& limits) {
  Room room = SLUICE_TRY(reserve(owner, tensor.view.size_bytes, limits));
  return put(owner, std::move(tensor), expires_ns, std::move(room));
}

Result<terms::TensorIndex> ExchangeTable::put(OwnerId owner, terms::OutputTensor tensor,
                                              std::int64_t expires_ns, Room room) {
  if (tensor.owner == nullptr) {
    return runtime_error(RuntimeCode::kInvalid, "the exchange keeps no memory of a caller");
  }
  if (!counts_.contains(owner)) return owner_has_ended();
  // The memory goes before its room: a tensor that counts no more holds none.
  const Lease lease(new terms::OutputTensor(std::move(tensor)),
                    [room = std::move(room)](const terms::OutputTensor* dead) mutable {
                      delete dead;
                      room = nullptr;
                    });
  const terms::TensorIndex index{++last_index_};
  entries_[index] = {owner, expires_ns, lease};
  by_expiry_.emplace(expires_ns, index);
  by_owner_[owner].insert(index);
  return index;
}

Result<ExchangeTable::Entries::const_iterator> ExchangeTable::find(OwnerId owner,
                                                                   terms::TensorIndex index) const {
  const auto it = entries_.find(index);
  // One message for both: an index of another owner reveals nothing.
  if (it != entries_.end() && it->second.owner == owner) return it;
  return runtime_error(RuntimeCode::kInvalidHandle,
                       "the exchange has no tensor {:#x} of this session, or no longer",
                       static_cast<std::uint64_t>(index));
}

Result<ExchangeTable::Lease> ExchangeTable::get(OwnerId owner, terms::TensorIndex index) const {
  return SLUICE_TRY(find(owner, index))->second.tensor;
}

Status ExchangeTable::remove(OwnerId owner, terms::TensorIndex index) {
  erase(SLUICE_TRY(find(owner, index)));
  return ok_status();
}

Status ExchangeTable::keep_copy(OwnerId owner, terms::TensorIndex index,
                                std::shared_ptr<const void> copy) {
  (void)SLUICE_TRY(find(owner, index));
  entries_.at(index).copies.insert(std::move(copy));
  return ok_status();
}

Result<std::string> ExchangeTable::offer(OwnerId owner, terms::TensorIndex index) {
  (void)SLUICE_TRY(find(owner, index));
  std::string& key = entries_.at(index).key;
  if (key.empty()) key = SLUICE_TRY(make_secret());
  return key;
}

Result<ExchangeTable::Lease> ExchangeTable::get_offered(terms::TensorIndex index,
                                                        std::string_view key) const {
  const auto it = entries_.find(index);
  if (it != entries_.end() && !it->second.key.empty() && is_same_secret(it->second.key, key)) {
    return it->second.tensor;
  }
  // One message for all, so that wrong keys reveal no index.
  return runtime_error(RuntimeCode::kInvalidHandle,
                       "exchange:{} with this key is not offered, or no longer: its time is over, "
                       "it was removed, or the daemon was started again; offer the tensor again",
                       static_cast<std::uint64_t>(index));
}

void ExchangeTable::erase(Entries::const_iterator entry) {
  const auto& [index, held] = *entry;
  by_expiry_.erase({held.expires_ns, index});
  const auto owned = by_owner_.find(held.owner);
  owned->second.erase(index);
  if (owned->second.empty()) by_owner_.erase(owned);
  entries_.erase(entry);
}

void ExchangeTable::drop(OwnerId owner) {
  const auto owned = by_owner_.find(owner);
  if (owned != by_owner_.end()) {
    const std::set<terms::TensorIndex> indices = owned->second;  // `erase` changes the original
    for (const terms::TensorIndex index : indices) erase(entries_.find(index));
  }
  counts_.erase(owner);
}

void ExchangeTable::expire(std::int64_t now_ns) {
  while (next_expiry_ns() <= now_ns) erase(entries_.find(by_expiry_.begin()->second));
}

std::int64_t ExchangeTable::next_expiry_ns() const {
  return by_expiry_.empty() ? kNoDeadline : by_expiry_.begin()->first;
}

ExchangeUsage ExchangeTable::usage(OwnerId owner) const {
  const auto it = counts_.find(owner);
  if (it == counts_.end()) return {};
  return {it->second->bytes, it->second->num_tensors};
}

}  // namespace sluice::sandbox
