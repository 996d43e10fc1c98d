#include "device/transfer/transfer_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace sluice::device {
namespace {

constexpr std::int64_t kBlock = 100;
constexpr int kClients = 5;

/// A transfer as the model of the rules sees it.
struct ModelTransfer {
  TransferId id = {};
  std::int64_t size_bytes = 0;
  std::int64_t issued_bytes = 0;
  std::int64_t copied_bytes = 0;
  int blocks = 0;  ///< given out
  int in_flight = 0;
  Urgency urgency;
  bool has_failed = false;
  bool is_cancelled = false;

  bool has_blocks_left() const {
    return !has_failed && !is_cancelled && (issued_bytes < size_bytes || blocks == 0);
  }
};

/// The rules of transfer_queue.h, written from its comment: linear searches, no ranks.
struct ModelClient {
  std::int64_t weight = 1;
  std::int64_t served = 0;
  std::int64_t last_turn = 0;
  bool was_idle = false;
  std::vector<ModelTransfer> transfers;  ///< not ended, in order

  ModelTransfer* next() {
    for (ModelTransfer& transfer : transfers) {
      if (transfer.has_blocks_left()) return &transfer;
    }
    return nullptr;
  }
};

class RandomTransfers {
 public:
  RandomTransfers(TransferPolicy policy, unsigned seed)
      : random_(seed), policy_(policy), queue_(policy, kBlock) {
    for (int i = 0; i < kClients; ++i) {
      clients_[i].weight = 1 + i;
      queue_.add_client(ClientId(i), "client", 1 + i);
    }
  }

  void step() {
    const std::uint64_t what = random_() % 100;
    now_ns_ += 1;
    if (what < 20) {
      push();
    } else if (what < 62) {
      next();
    } else if (what < 98) {
      end();
    } else {
      cancel();
    }
    std::size_t num_pending = 0;
    for (const ModelClient& client : clients_) num_pending += client.transfers.size();
    ASSERT_EQ(queue_.has_work(), num_pending > 0);
    ASSERT_EQ(reported_.size() + num_pending, num_pushed_) << "each is reported once";
  }

 private:
  void push() {
    const int client = below(kClients);
    ModelClient& to = clients_[client];
    if (to.transfers.size() > 5) return;
    ModelTransfer transfer;
    transfer.id = TransferId{++num_pushed_};
    transfer.size_bytes = below(4) == 0 ? below(2) : below(1000);
    transfer.urgency = {.deadline_ns = below(50), .priority = below(5)};
    if (to.next() == nullptr) {
      to.was_idle = true;
      to.served = std::max(to.served, level_);
    }
    to.transfers.push_back(transfer);
    PendingTransfer pending;
    pending.id = transfer.id;
    pending.submitted_ns = now_ns_;
    pending.transfer = {ClientId(client),
                        Direction::kToDevice,
                        bytes_.data(),
                        bytes_.data(),
                        transfer.size_bytes,
                        [this, id = transfer.id](const TransferReport&) {
                          ASSERT_TRUE(reported_.insert(id).second);
                        },
                        transfer.urgency};
    queue_.push(std::move(pending));
  }

  /// Whether a comes before b among clients that have blocks left.
  bool is_before(ModelClient& a, ModelClient& b) {
    if (policy_ == TransferPolicy::kWeighted && a.served != b.served) return a.served < b.served;
    if (policy_ == TransferPolicy::kDeadline || policy_ == TransferPolicy::kStrict) {
      if (is_new(a) != is_new(b)) return is_new(a);
      const Urgency& left = a.next()->urgency;
      const Urgency& right = b.next()->urgency;
      if (!is_new(a) && policy_ == TransferPolicy::kDeadline &&
          left.deadline_ns != right.deadline_ns) {
        return left.deadline_ns < right.deadline_ns;
      }
      if (!is_new(a) && policy_ == TransferPolicy::kStrict && left.priority != right.priority) {
        return left.priority > right.priority;
      }
    }
    return a.last_turn < b.last_turn;
  }
  bool is_new(const ModelClient& client) {
    const bool has_waited = client.last_turn == 0 || turn_ - client.last_turn >= num_active();
    return client.was_idle && has_waited && !was_new_;
  }
  std::int64_t num_active() {
    return std::ranges::count_if(clients_, [](ModelClient& one) { return one.next() != nullptr; });
  }

  void next() {
    if (flights_.size() >= 4) return;
    ModelClient* best = nullptr;
    for (ModelClient& client : clients_) {
      if (client.next() == nullptr) continue;
      if (best == nullptr || is_before(client, *best)) best = &client;
    }
    const bool best_is_new = best != nullptr && is_new(*best) && num_active() > 1;
    const auto block = queue_.next(now_ns_);
    ASSERT_EQ(block.has_value(), best != nullptr);
    if (best == nullptr) {
      was_new_ = false;
      return;
    }
    ASSERT_EQ(block->client.index(), static_cast<std::size_t>(best - clients_.data()));
    ModelTransfer& transfer = *best->next();
    ASSERT_EQ(block->id, transfer.id);
    ASSERT_EQ(block->size_bytes, std::min(kBlock, transfer.size_bytes - transfer.issued_bytes));
    if (block->size_bytes > 0) {
      ASSERT_EQ(static_cast<const char*>(block->source) - bytes_.data(), transfer.issued_bytes);
    }
    was_new_ = best_is_new;
    level_ = best->served;
    best->served += std::max<std::int64_t>(block->size_bytes / best->weight, 1);
    best->last_turn = ++turn_;
    best->was_idle = false;
    transfer.issued_bytes += block->size_bytes;
    ++transfer.blocks;
    ++transfer.in_flight;
    flights_.push_back(*block);
  }

  void end() {
    if (flights_.empty()) return;
    const TransferBlock block = flights_.front();
    flights_.erase(flights_.begin());
    const bool fails = below(20) == 0;
    ModelClient& client = clients_[block.client.index()];
    ModelTransfer& transfer = *std::ranges::find(client.transfers, block.id, &ModelTransfer::id);
    --transfer.in_flight;
    transfer.copied_bytes += fails ? 0 : block.size_bytes;
    transfer.has_failed = transfer.has_failed || fails;
    std::vector<FinishedTransfer> finished;
    queue_.end(block, fails ? internal_error("broken") : ok_status(), now_ns_, finished);
    std::size_t i = 0;
    while (!client.transfers.empty() && client.transfers.front().in_flight == 0 &&
           !client.transfers.front().has_blocks_left()) {
      ASSERT_LT(i, finished.size());
      const ModelTransfer& ended = client.transfers.front();
      const TransferReport& report = finished[i].report;
      ASSERT_EQ(report.copied_bytes, ended.copied_bytes);
      const bool is_whole = !ended.has_failed && ended.copied_bytes == ended.size_bytes;
      ASSERT_EQ(report.status.is_ok(), is_whole) << report.status.to_string();
      finished[i++].on_done(report);
      client.transfers.erase(client.transfers.begin());
    }
    ASSERT_EQ(i, finished.size()) << "in order of submission";
  }

  void cancel() {
    const TransferId id{1 + random_() % std::max<std::uint64_t>(num_pushed_, 1)};
    std::size_t num_meant = 0;
    for (ModelClient& client : clients_) {
      for (ModelTransfer& transfer : client.transfers) {
        if (transfer.id != id) continue;
        ++num_meant;
        transfer.is_cancelled = true;
      }
      std::erase_if(client.transfers, [](const ModelTransfer& transfer) {
        return transfer.is_cancelled && transfer.in_flight == 0;
      });
    }
    std::vector<FinishedTransfer> finished;
    const auto is_it = [&](const PendingTransfer& pending) { return pending.id == id; };
    ASSERT_EQ(queue_.cancel(is_it, now_ns_, finished), num_meant);
    for (const FinishedTransfer& one : finished) one.on_done(one.report);
  }

  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

  std::mt19937_64 random_;
  TransferPolicy policy_;
  TransferQueue queue_;
  std::vector<char> bytes_ = std::vector<char>(1000);
  std::array<ModelClient, kClients> clients_;
  std::vector<TransferBlock> flights_;
  std::set<TransferId> reported_;
  std::uint64_t num_pushed_ = 0;
  std::int64_t level_ = 0;
  std::int64_t turn_ = 0;
  std::int64_t now_ns_ = 0;
  bool was_new_ = false;
};

TEST(TransferQueue, Follows100000RandomOperationsOfAModelUnderEachPolicy) {
  for (const auto policy : {TransferPolicy::kWeighted, TransferPolicy::kRoundRobin,
                            TransferPolicy::kDeadline, TransferPolicy::kStrict}) {
    RandomTransfers transfers(policy, 5);
    for (int step = 0; step < 100'000; ++step) {
      transfers.step();
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << policy_name(policy) << ", step " << step;
    }
  }
}

/// Two clients of one policy; returns which of them gets the next blocks.
class Pair {
 public:
  explicit Pair(TransferPolicy policy) : queue_(policy, kBlock) {
    for (int i = 0; i < 2; ++i) queue_.add_client(ClientId(i), "client", 1);
  }
  void push(int client, std::int64_t size_bytes, const Urgency& urgency) {
    PendingTransfer pending;
    pending.id = TransferId{++num_pushed_};
    pending.transfer = {ClientId(client), Direction::kToDevice, &byte_, &byte_, size_bytes, {},
                        urgency};
    queue_.push(std::move(pending));
  }
  std::size_t next() { return queue_.next(0)->client.index(); }

 private:
  TransferQueue queue_;
  char byte_ = 0;
  std::uint64_t num_pushed_ = 0;
};

TEST(TransferQueue, DeadlineAndPriorityDecideAfterANewClientsFirstBlock) {
  for (const auto policy : {TransferPolicy::kDeadline, TransferPolicy::kStrict}) {
    Pair pair(policy);
    pair.push(0, 100 * kBlock, {.deadline_ns = 10, .priority = 5});
    EXPECT_EQ(pair.next(), 0U);
    pair.push(1, 100 * kBlock, {.deadline_ns = 20, .priority = 1});
    EXPECT_EQ(pair.next(), 1U) << "a new client's first block";
    for (int i = 0; i < 10; ++i) EXPECT_EQ(pair.next(), 0U) << policy_name(policy);
  }
}

TEST(TransferQueue, ClientOfSmallTransfersDoesNotPassAsNewEachTime) {
  Pair pair(TransferPolicy::kStrict);
  pair.push(0, 1000 * kBlock, {.priority = 5});
  int num_urgent = 0;
  for (int i = 0; i < 100; ++i) {
    pair.push(1, 1, {.priority = 1});
    num_urgent += pair.next() == 0 ? 1 : 0;
  }
  EXPECT_GE(num_urgent, 50);
}

TEST(TransferQueue, PoliciesAreFoundByTheirNames) {
  EXPECT_EQ(find_policy("round-robin"), TransferPolicy::kRoundRobin);
  EXPECT_EQ(find_policy(policy_name(TransferPolicy::kDeadline)), TransferPolicy::kDeadline);
  EXPECT_EQ(find_policy("other"), std::nullopt);
}

TEST(TransferQueue, BlockThatIsGivenBackWaitsAgainAndIsNotCharged) {
  TransferQueue queue(TransferPolicy::kWeighted, kBlock);
  for (int i = 0; i < 2; ++i) {
    queue.add_client(ClientId(i), "client", /*weight=*/1);
    PendingTransfer pending;
    pending.id = TransferId(static_cast<std::uint64_t>(i));
    pending.transfer.client = ClientId(i);
    pending.transfer.size_bytes = 2 * kBlock;
    queue.push(std::move(pending));
  }
  std::vector<int> order;
  std::vector<FinishedTransfer> finished;
  const auto first = queue.next(0);
  ASSERT_TRUE(first && first->client == ClientId(0));
  queue.give_back(*first);
  while (const auto block = queue.next(0)) {
    order.push_back(block->client.value());
    queue.end(*block, ok_status(), 0, finished);
  }
  EXPECT_EQ(order, (std::vector<int>{1, 0, 1, 0}));
  ASSERT_EQ(finished.size(), 2U);
  for (const FinishedTransfer& one : finished) EXPECT_EQ(one.report.copied_bytes, 2 * kBlock);
}

}  // namespace
}  // namespace sluice::device
