#include "device/transfer/transfer_lane.h"

#include <array>
#include <chrono>
#include <utility>

namespace sluice::device {
namespace {

/// Command lists that a stream keeps, by block size. Blocks are full except for the last of a
/// transfer, so few sizes occur; the bound matters if every transfer has another remainder.
constexpr std::size_t kMaxLists = 64;

}  // namespace

TransferLane::TransferLane(std::shared_ptr<const backend::Group> group,
                           std::vector<PooledStream> streams, const TransferOptions& options)
    : group_(std::move(group)), queue_(options.policy, options.block_bytes) {
  for (PooledStream& stream : streams) {
    free_copiers_.push_back(copiers_.size());
    copiers_.push_back({{}, std::move(stream)});
  }
}

bool TransferLane::step(const Clock& clock, std::int64_t timeout_ns,
                        std::vector<FinishedTransfer>& finished) {
  const bool has_ended = poll_blocks(clock, timeout_ns, finished);
  const bool has_started = start_blocks(clock);
  return has_ended || has_started;
}

// Blocks end in the order of their starts, so a client's transfers do too. A device with several
// engines may finish a later block first; that one is seen after the earlier ones.
bool TransferLane::poll_blocks(const Clock& clock, std::int64_t timeout_ns,
                               std::vector<FinishedTransfer>& finished) {
  bool has_ended = false;
  while (!in_flight_.empty()) {
    const Flight& oldest = in_flight_.front();
    Status status = oldest.submitted;
    if (oldest.copier) {
      backend::Stream& stream = *copiers_[*oldest.copier].stream;
      const std::int64_t wait_ns = has_ended ? 0 : timeout_ns;
      status = wait_ns < 0 ? stream.wait() : stream.wait(std::chrono::nanoseconds(wait_ns));
      if (status.code() == Code::kDeadlineExceeded) break;
      free_copiers_.push_back(*oldest.copier);
    }
    // A failed block ends its transfer only; the stream stays usable.
    queue_.end(oldest.block, status, clock.now_ns(), finished);
    in_flight_.pop_front();
    has_ended = true;
  }
  return has_ended;
}

bool TransferLane::start_blocks(const Clock& clock) {
  bool has_started = false;
  while (in_flight_.size() < copiers_.size()) {
    const auto block = queue_.next(clock.now_ns());
    if (!block) break;
    in_flight_.push_back(start(*block));
    has_started = true;
  }
  return has_started;
}

TransferLane::Flight TransferLane::start(const TransferBlock& block) {
  if (block.size_bytes == 0) return {block, std::nullopt, ok_status()};
  const std::size_t copier = free_copiers_.back();
  Status status = submit(copiers_[copier], block);
  if (!status.is_ok()) return {block, std::nullopt, std::move(status)};
  free_copiers_.pop_back();
  return {block, copier, ok_status()};
}

Status TransferLane::submit(Copier& copier, const TransferBlock& block) {
  const backend::CommandList* list = SLUICE_TRY(copy_list(copier, block.size_bytes));
  const std::array<void*, 2> bindings = {const_cast<void*>(block.source),  // NOLINT: only read
                                         block.target};
  return copier.stream->submit(*list, bindings);
}

Result<const backend::CommandList*> TransferLane::copy_list(Copier& copier,
                                                            std::int64_t size_bytes) {
  auto& lists = copier.lists;
  const auto it = lists.find(size_bytes);
  if (it != lists.end()) return static_cast<const backend::CommandList*>(&it->second);
  if (lists.size() >= kMaxLists) lists.clear();  // none runs: the copier is free
  auto list = SLUICE_TRY(backend::CommandList::create(group_));
  SLUICE_TRY(
      list.add_copy(backend::bound_argument(0, 0), backend::bound_argument(1, 0), size_bytes));
  SLUICE_TRY(list.finish());
  const auto inserted = lists.emplace(size_bytes, std::move(list)).first;
  return static_cast<const backend::CommandList*>(&inserted->second);
}

}  // namespace sluice::device
