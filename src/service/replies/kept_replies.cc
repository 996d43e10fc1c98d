#include "service/replies/kept_replies.h"

#include "base/system/aligned_memory.h"

namespace sluice::service {
namespace {

// Kernels read the tensors where they lie when a reply becomes the input of another model.
constexpr std::int64_t kAlignment = 64;
// More than what keys, nodes and views take beside the tensors.
constexpr std::int64_t kBytesBeside = 512;

std::int64_t rounded_up(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Bytes of the tensors alone. Sizes of tensors that are there: the sum cannot overflow.
std::int64_t tensor_bytes(const std::vector<terms::OutputTensor>& outputs) {
  std::int64_t total = 0;
  for (const terms::OutputTensor& output : outputs) total += rounded_up(output.view.size_bytes);
  return total;
}

}  // namespace

void KeptReplies::add(sandbox::OwnerId tenant, const AccountMemory& memory) {
  const std::lock_guard lock(mutex_);
  payers_[tenant] = {memory.kept, memory.all};
}

KeptReplies::Shared KeptReplies::find(const ReplyKey& key) {
  const std::lock_guard lock(mutex_);
  const Shared* found = replies_.find(key);
  return found == nullptr ? nullptr : *found;
}

/// Whom to charge; null where the reply is not kept.
std::shared_ptr<ByteBudget> KeptReplies::make_room(sandbox::OwnerId tenant, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto payer = payers_.find(tenant);
  if (payer == payers_.end()) return nullptr;
  const auto& [kept, all] = payer->second;
  const std::int64_t most = all->limit_bytes() / 2;
  if (bytes > most) return nullptr;
  // Those of other sessions of the account are found by their own requests.
  while (all->held_bytes() > most - bytes) {
    const bool has_some = kept->held_bytes() > 0;
    const auto goes = [&](const ReplyKey& key) { return key.owner == tenant; };
    if (!has_some || !replies_.drop_oldest(goes)) return nullptr;
  }
  return kept;
}

void KeptReplies::insert(const ReplyKey& key, const std::vector<terms::OutputTensor>& outputs) {
  const std::int64_t data_bytes = tensor_bytes(outputs);
  const std::int64_t bytes =
      data_bytes + kBytesBeside * (1 + static_cast<std::int64_t>(outputs.size()));
  if (bytes > replies_.limit_bytes()) return;  // it would drive out all others, and go next
  auto payer = make_room(key.owner, bytes);
  if (payer == nullptr) return;
  auto charge = ByteCharge::take(std::move(payer), bytes);
  if (!charge.is_ok()) return;
  auto kept = std::make_shared<KeptReply>();
  kept->charge = std::move(*charge);
  kept->memory = allocate_aligned(static_cast<std::uint64_t>(data_bytes));
  if (kept->memory == nullptr) return;
  std::byte* place = kept->memory.get();
  for (const terms::OutputTensor& output : outputs) {
    terms::TensorView& view = kept->outputs.emplace_back(output.view);
    if (view.size_bytes > 0) {
      std::memcpy(place, output.view.data, static_cast<std::size_t>(view.size_bytes));
    }
    view.data = place;
    place += rounded_up(view.size_bytes);
  }
  const std::lock_guard lock(mutex_);
  if (!payers_.contains(key.owner)) return;  // it has ended meanwhile
  replies_.insert(key, std::move(kept), bytes);
}

void KeptReplies::erase(std::uint64_t model) {
  const std::lock_guard lock(mutex_);
  replies_.erase_if([&](const ReplyKey& key) { return key.model == model; });
}

void KeptReplies::drop(sandbox::OwnerId owner) {
  const std::lock_guard lock(mutex_);
  payers_.erase(owner);
  replies_.erase_if([&](const ReplyKey& key) { return key.owner == owner; });
}

std::int64_t KeptReplies::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return replies_.held_bytes();
}

}  // namespace sluice::service
