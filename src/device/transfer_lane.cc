#include "device/transfer_lane.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <tuple>
#include <utility>

namespace sluice::device {
namespace {

/// Command lists kept by block size. Blocks are full except for the last of a transfer, so few
/// sizes occur; the bound matters if every transfer has another remainder.
constexpr std::size_t kMaxLists = 64;

FinishedTransfer finish(PendingTransfer pending, Status status, std::int64_t now_ns) {
  TransferReport report;
  report.status = std::move(status);
  report.copied_bytes = pending.copied_bytes;
  const bool has_started = pending.started_ns >= 0;
  report.queue_ns = (has_started ? pending.started_ns : now_ns) - pending.submitted_ns;
  report.copy_ns = has_started ? now_ns - pending.started_ns : 0;
  return {std::move(pending.transfer.on_done), std::move(report)};
}

Status cancelled() { return Status(Code::kCancelled, "the transfer was cancelled"); }

}  // namespace

void TransferLane::add_client(ClientId client, std::string name, int weight) {
  clients_.emplace(client, Client{std::move(name), weight, level_, 0, {}});
}

void TransferLane::push(PendingTransfer transfer) {
  Client& client = clients_.at(transfer.transfer.client);
  // No credit for idle time: without this, a client that was idle would get all of the bandwidth
  // until the others had caught up.
  if (client.queue.empty()) client.served = std::max(client.served, level_);
  client.queue.push_back(std::move(transfer));
}

bool TransferLane::has_work() const {
  return std::ranges::any_of(clients_,
                             [](const auto& entry) { return !entry.second.queue.empty(); });
}

bool TransferLane::step(const Clock& clock, std::int64_t timeout_ns,
                        std::vector<FinishedTransfer>& finished) {
  const bool has_ended = poll_block(clock, timeout_ns, finished);
  const bool has_started = start_block(clock, finished);
  return has_ended || has_started;
}

std::size_t TransferLane::cancel(const Clock& clock,
                                 const std::function<bool(const PendingTransfer&)>& is_meant,
                                 std::vector<FinishedTransfer>& finished) {
  std::size_t num_cancelled = 0;
  for (auto& [id, client] : clients_) {
    std::deque<PendingTransfer> kept;
    for (PendingTransfer& pending : client.queue) {
      const bool is_copied = kept.empty() && block_ && block_->client == id;
      if (!is_meant(pending)) {
        kept.push_back(std::move(pending));
        continue;
      }
      ++num_cancelled;
      // The device may still write to the target: the transfer ends in poll_block.
      if (is_copied) {
        block_->is_cancelled = true;
        kept.push_back(std::move(pending));
      } else {
        finished.push_back(finish(std::move(pending), cancelled(), clock.now_ns()));
      }
    }
    client.queue = std::move(kept);
  }
  return num_cancelled;
}

bool TransferLane::poll_block(const Clock& clock, std::int64_t timeout_ns,
                              std::vector<FinishedTransfer>& finished) {
  if (!block_) return false;
  Status status =
      timeout_ns < 0 ? stream_->wait() : stream_->wait(std::chrono::nanoseconds(timeout_ns));
  if (status.code() == Code::kDeadlineExceeded) return false;
  const Block block = *std::exchange(block_, std::nullopt);
  Client& client = clients_.at(block.client);
  PendingTransfer& front = client.queue.front();
  // A failed block ends its transfer only; the stream stays usable.
  if (!status.is_ok()) {
    finish_front(client, std::move(status), clock, finished);
    return true;
  }
  front.copied_bytes += block.size_bytes;
  const bool is_complete = front.copied_bytes == front.transfer.size_bytes;
  if (is_complete)
    finish_front(client, ok_status(), clock, finished);
  else if (block.is_cancelled)
    finish_front(client, cancelled(), clock, finished);
  return true;
}

bool TransferLane::start_block(const Clock& clock, std::vector<FinishedTransfer>& finished) {
  bool has_moved = false;
  while (!block_) {
    ClientId id;
    Client* client = next_client(id);
    if (client == nullptr) break;
    has_moved = true;
    PendingTransfer& front = client->queue.front();
    const std::int64_t left_bytes = front.transfer.size_bytes - front.copied_bytes;
    const std::int64_t size_bytes = std::min(block_bytes_, left_bytes);
    // Charged when the block starts, at least 1, so that clients with empty transfers take turns
    // too.
    level_ = client->served;
    client->last_turn = ++turn_;
    client->served += std::max<std::int64_t>(size_bytes / client->weight, 1);
    if (front.started_ns < 0) front.started_ns = clock.now_ns();
    Status status = size_bytes == 0 ? ok_status() : submit_block(front, size_bytes);
    if (size_bytes == 0 || !status.is_ok()) {
      finish_front(*client, std::move(status), clock, finished);
    } else {
      block_ = Block{id, size_bytes, false};
    }
  }
  return has_moved;
}

Status TransferLane::submit_block(const PendingTransfer& pending, std::int64_t size_bytes) {
  const backend::CommandList* list = SLUICE_TRY(copy_list(size_bytes));
  const Transfer& transfer = pending.transfer;
  const std::array<void*, 2> bindings = {
      const_cast<char*>(static_cast<const char*>(transfer.source)) +  // NOLINT: only read
          pending.copied_bytes,
      static_cast<char*>(transfer.target) + pending.copied_bytes};
  return stream_->submit(*list, bindings);
}

TransferLane::Client* TransferLane::next_client(ClientId& id) {
  Client* next = nullptr;
  for (auto& [candidate_id, candidate] : clients_) {
    if (candidate.queue.empty()) continue;
    const auto rank = [](const Client& client) {
      return std::tuple(client.served, client.last_turn);
    };
    if (next != nullptr && rank(candidate) >= rank(*next)) continue;
    next = &candidate;
    id = candidate_id;
  }
  return next;
}

void TransferLane::finish_front(Client& client, Status status, const Clock& clock,
                                std::vector<FinishedTransfer>& finished) {
  const PendingTransfer& front = client.queue.front();
  status = std::move(status).with_context(
      fmt::format("copying {} bytes for \"{}\", after {} of them", front.transfer.size_bytes,
                  client.name, front.copied_bytes));
  finished.push_back(finish(std::move(client.queue.front()), std::move(status), clock.now_ns()));
  client.queue.pop_front();
}

Result<const backend::CommandList*> TransferLane::copy_list(std::int64_t size_bytes) {
  const auto it = lists_.find(size_bytes);
  if (it != lists_.end()) return static_cast<const backend::CommandList*>(&it->second);
  if (lists_.size() >= kMaxLists) lists_.clear();  // none runs: there is no block
  auto list = SLUICE_TRY(backend::CommandList::create(group_));
  SLUICE_TRY(
      list.add_copy(backend::bound_argument(0, 0), backend::bound_argument(1, 0), size_bytes));
  SLUICE_TRY(list.finish());
  const auto inserted = lists_.emplace(size_bytes, std::move(list)).first;
  return static_cast<const backend::CommandList*>(&inserted->second);
}

}  // namespace sluice::device
