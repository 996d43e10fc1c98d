#include "guest/proxy/copy_turns.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "guest/wire/calls.h"

namespace sluice::guest {

using cuda::CuResult;
using device::TransferBlock;
using device::TransferQueue;

namespace {

constexpr std::int64_t kNow = 0;  // nobody reads the times of a report

std::uint64_t full_piece(std::uint64_t rest_bytes) {
  return std::min<std::uint64_t>(rest_bytes, kMaxPayloadBytes);
}

}  // namespace

CopyTurns::CopyTurns(const device::TransferOptions& options)
    : max_in_flight_(options.blocks_in_flight),
      lanes_{Lane{TransferQueue(options.policy, kMaxPayloadBytes)},
             Lane{TransferQueue(options.policy, kMaxPayloadBytes)}} {}

int CopyTurns::num_waiting() const {
  const std::lock_guard lock(mutex_);
  return num_waiting_;
}

CopyTurns::Client::Client(CopyTurns& turns) : turns_(turns) {
  const std::lock_guard lock(turns_.mutex_);
  id_ = device::ClientId(turns_.num_clients_++);
  for (Lane& lane : turns_.lanes_) lane.queue.add_client(id_, "guest", /*weight=*/1);
  turns_.clients_.emplace(id_, this);
}

CopyTurns::Client::~Client() {
  pause();
  const std::lock_guard lock(turns_.mutex_);
  for (Lane& lane : turns_.lanes_) lane.queue.remove_client(id_);
  turns_.clients_.erase(id_);
}

bool CopyTurns::Client::continues(const CopyPiece& piece) const {
  return next_ && piece.direction == next_->direction && piece.stream == next_->stream &&
         piece.address == next_->address && piece.rest_bytes == next_->rest_bytes &&
         piece.size_bytes == full_piece(piece.rest_bytes);
}

void CopyTurns::Client::pause() {
  if (!next_) return;
  const std::lock_guard lock(turns_.mutex_);
  turns_.drop_locked(*this, next_->direction);
  next_.reset();
}

CuResult CopyTurns::Client::run(const CopyPiece& piece, const std::function<CuResult()>& copy) {
  const bool goes_on = continues(piece);
  if (!goes_on) pause();
  std::unique_lock lock(turns_.mutex_);
  if (!goes_on) turns_.begin_locked(*this, piece);
  ++turns_.num_waiting_;
  is_granted_.wait(lock, [this] { return !granted_.empty(); });
  --turns_.num_waiting_;
  const TransferBlock block = granted_.front();
  granted_.pop_front();
  lock.unlock();
  const CuResult result = copy();
  lock.lock();
  turns_.end_locked(*this, piece.direction, block, result);
  const auto size_bytes = static_cast<std::uint64_t>(block.size_bytes);
  const bool has_rest = result == CuResult::kSuccess && size_bytes < next_->rest_bytes;
  if (has_rest) {
    next_->address += size_bytes;
    next_->rest_bytes -= size_bytes;
  } else {
    next_.reset();
  }
  return result;
}

/// A piece that is not full before the end of its copy is a copy of its own.
void CopyTurns::begin_locked(Client& client, const CopyPiece& piece) {
  client.next_ = piece;
  const bool is_block = piece.size_bytes == full_piece(piece.rest_bytes);
  if (!is_block) client.next_->rest_bytes = piece.size_bytes;
  client.transfer_ = device::TransferId{++num_transfers_};
  device::PendingTransfer pending;
  pending.id = client.transfer_;
  pending.transfer.client = client.id_;
  pending.transfer.direction = piece.direction;
  // The queue counts along them, and reads nothing.
  pending.transfer.source = pending.transfer.target =
      reinterpret_cast<void*>(piece.address);  // NOLINT
  pending.transfer.size_bytes = static_cast<std::int64_t>(client.next_->rest_bytes);
  pending.transfer.urgency.priority = -piece.stream_priority;
  Lane& to = lane_of(piece.direction);
  to.queue.push(std::move(pending));
  grant_locked(to);
}

/// A failed piece ends its copy: blocks that are granted to it go back.
void CopyTurns::end_locked(Client& client, device::Direction direction, const TransferBlock& block,
                           CuResult result) {
  Lane& from = lane_of(direction);
  const bool is_well = result == CuResult::kSuccess;
  std::vector<device::FinishedTransfer> finished;
  from.queue.end(block, is_well ? ok_status() : internal_error("a guest's copy failed"), kNow,
                 finished);
  --from.num_in_flight;
  if (!is_well) drop_locked(client, direction);
  grant_locked(from);
}

/// Ends the transfer of the client, if it has not ended.
void CopyTurns::drop_locked(Client& client, device::Direction direction) {
  Lane& from = lane_of(direction);
  for (; !client.granted_.empty(); client.granted_.pop_back(), --from.num_in_flight) {
    from.queue.give_back(client.granted_.back());
  }
  std::vector<device::FinishedTransfer> finished;
  from.queue.cancel([&](const auto& pending) { return pending.id == client.transfer_; }, kNow,
                    finished);
  grant_locked(from);
}

void CopyTurns::grant_locked(Lane& to) {
  while (to.num_in_flight < max_in_flight_) {
    const auto block = to.queue.next(kNow);
    if (!block) return;
    ++to.num_in_flight;
    Client& client = *clients_.at(block->client);
    client.granted_.push_back(*block);
    client.is_granted_.notify_one();
  }
}

}  // namespace sluice::guest
