#include "device/transfer/transfer_queue.h"

#include <algorithm>
#include <utility>

namespace sluice::device {
namespace {

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

PendingTransfer* TransferQueue::Client::next() {
  const auto found = std::ranges::find_if(
      queue, [](const PendingTransfer& pending) { return pending.has_blocks_left(); });
  return found == queue.end() ? nullptr : &*found;
}

void TransferQueue::add_client(ClientId client, std::string name, int weight) {
  Client added;
  added.name = std::move(name);
  added.weight = weight;
  added.served = level_;
  clients_.emplace(client, std::move(added));
}

void TransferQueue::push(PendingTransfer transfer) {
  Client& client = clients_.at(transfer.transfer.client);
  // No credit for idle time: without this, a client that was idle would get all of the bandwidth
  // until the others had caught up.
  if (client.next() == nullptr) {
    client.served = std::max(client.served, level_);
    client.was_idle = true;
  }
  client.queue.push_back(std::move(transfer));
}

bool TransferQueue::has_work() const {
  return std::ranges::any_of(clients_,
                             [](const auto& entry) { return !entry.second.queue.empty(); });
}

std::optional<TransferBlock> TransferQueue::next(std::int64_t now_ns) {
  ClientId id;
  Client* const client = choose(id);
  if (client == nullptr) return std::nullopt;
  PendingTransfer& pending = *client->next();
  const Transfer& transfer = pending.transfer;
  TransferBlock block;
  block.client = id;
  block.id = pending.id;
  block.size_bytes = std::min(block_bytes_, transfer.size_bytes - pending.issued_bytes);
  if (block.size_bytes > 0) {
    block.source = static_cast<const char*>(transfer.source) + pending.issued_bytes;
    block.target = static_cast<char*>(transfer.target) + pending.issued_bytes;
  }
  // What the client had when its turn came: clients that become active start from there.
  level_ = client->served;
  client->served += charge_for(*client, block);  // when the block starts
  client->last_turn = ++turn_;
  client->was_idle = false;
  pending.issued_bytes += block.size_bytes;
  ++pending.blocks_in_flight;
  if (pending.started_ns < 0) pending.started_ns = now_ns;
  return block;
}

/// At least 1, so that clients with empty transfers take turns too.
std::int64_t TransferQueue::charge_for(const Client& client, const TransferBlock& block) {
  return std::max<std::int64_t>(block.size_bytes / client.weight, 1);
}

TransferQueue::Client* TransferQueue::choose(ClientId& id) {
  std::uint64_t num_active = 0;
  for (const auto& [ignored, client] : clients_) num_active += client.next() != nullptr ? 1 : 0;
  Client* chosen = nullptr;
  Rank best;
  bool is_best_new = false;
  for (auto& [candidate, client] : clients_) {
    if (client.next() == nullptr) continue;
    // A client that idles between its blocks, to come back as new, must first let all others have a
    // turn.
    const bool has_waited = client.last_turn == 0 || turn_ - client.last_turn >= num_active;
    const bool is_new = client.was_idle && has_waited && !was_new_;
    const Rank rank = rank_of(client, is_new);
    if (chosen != nullptr && rank >= best) continue;
    chosen = &client;
    best = rank;
    is_best_new = is_new;
    id = candidate;
  }
  // Two turns in a row do not go to new clients, so those that wait in a queue are not starved.
  was_new_ = is_best_new && num_active > 1;
  return chosen;
}

/// The smallest rank is next.
TransferQueue::Rank TransferQueue::rank_of(const Client& client, bool is_new) const {
  const Urgency& urgency = client.next()->transfer.urgency;
  switch (policy_) {
    // Weighted fair queueing: `served` is the client's virtual time, its bytes divided by its
    // weight.
    case TransferPolicy::kWeighted: return {0, client.served, client.last_turn};
    case TransferPolicy::kRoundRobin: break;
    case TransferPolicy::kDeadline:
      return {is_new ? 0 : 1, is_new ? 0 : urgency.deadline_ns, client.last_turn};
    case TransferPolicy::kStrict:
      return {is_new ? 0 : 1, is_new ? 0 : -std::int64_t{urgency.priority}, client.last_turn};
  }
  return {0, 0, client.last_turn};
}

void TransferQueue::end(const TransferBlock& block, const Status& status, std::int64_t now_ns,
                        std::vector<FinishedTransfer>& finished) {
  Client& client = clients_.at(block.client);
  const auto found = std::ranges::find(client.queue, block.id, &PendingTransfer::id);
  PendingTransfer& pending = *found;
  --pending.blocks_in_flight;
  if (status.is_ok()) {
    pending.copied_bytes += block.size_bytes;
  } else if (pending.failure.is_ok()) {
    pending.failure = status;
  }
  finish_ended(client, now_ns, finished);
}

void TransferQueue::give_back(const TransferBlock& block) {
  Client& client = clients_.at(block.client);
  PendingTransfer& pending = *std::ranges::find(client.queue, block.id, &PendingTransfer::id);
  client.served -= charge_for(client, block);
  pending.issued_bytes -= block.size_bytes;
  --pending.blocks_in_flight;
  if (pending.issued_bytes == 0) pending.started_ns = -1;
}

/// Reports the transfers at the front of the queue whose blocks have all ended.
void TransferQueue::finish_ended(Client& client, std::int64_t now_ns,
                                 std::vector<FinishedTransfer>& finished) {
  while (!client.queue.empty()) {
    PendingTransfer& front = client.queue.front();
    // In the order of submission: a later transfer that has ended waits for those before it.
    if (front.blocks_in_flight > 0 || front.has_blocks_left()) return;
    const bool is_complete = front.copied_bytes == front.transfer.size_bytes;
    Status status = front.failure;
    if (status.is_ok() && !is_complete) status = cancelled();
    status = std::move(status).with_context(
        fmt::format("copying {} bytes for \"{}\", after {} of them", front.transfer.size_bytes,
                    client.name, front.copied_bytes));
    finished.push_back(finish(std::move(front), std::move(status), now_ns));
    client.queue.pop_front();
  }
}

std::size_t TransferQueue::cancel(const std::function<bool(const PendingTransfer&)>& is_meant,
                                  std::int64_t now_ns, std::vector<FinishedTransfer>& finished) {
  std::size_t num_cancelled = 0;
  for (auto& [id, client] : clients_) {
    std::deque<PendingTransfer> kept;
    for (PendingTransfer& pending : client.queue) {
      if (!is_meant(pending)) {
        kept.push_back(std::move(pending));
        continue;
      }
      ++num_cancelled;
      if (pending.blocks_in_flight == 0) {
        finished.push_back(finish(std::move(pending), cancelled(), now_ns));
        continue;
      }
      // The device may still write to the target: the transfer ends with its last block.
      pending.is_cancelled = true;
      kept.push_back(std::move(pending));
    }
    client.queue = std::move(kept);
  }
  return num_cancelled;
}

}  // namespace sluice::device
