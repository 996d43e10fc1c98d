// Decides whose block of one direction is copied next. No device, no thread, no clock of its own.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "device/transfer/transfer.h"

namespace sluice::device {

/// A transfer that waits or is under way.
struct PendingTransfer {
  TransferId id = {};
  Transfer transfer;
  std::int64_t submitted_ns = 0;
  std::int64_t started_ns = -1;   ///< -1 before the first block
  std::int64_t issued_bytes = 0;  ///< of blocks that the queue gave out
  std::int64_t copied_bytes = 0;  ///< of blocks that have ended well
  int blocks_in_flight = 0;
  Status failure;  ///< of the first block that failed
  bool is_cancelled = false;

  bool is_ended() const { return is_cancelled || !failure.is_ok(); }
  bool has_blocks_left() const {
    return !is_ended() && (issued_bytes < transfer.size_bytes || started_ns < 0);
  }
};

struct FinishedTransfer {
  std::function<void(const TransferReport&)> on_done;
  TransferReport report;
};

struct TransferBlock {
  ClientId client;
  TransferId id = {};
  const void* source = nullptr;
  void* target = nullptr;
  std::int64_t size_bytes = 0;  ///< 0 of an empty transfer
};

/// A queue of transfers per client. Each call of `next` gives out one block, of the client that the
/// policy chooses:
///   weighted     start-time fair queueing (P. Goyal et al., SIGCOMM 1996): the fewest bytes per
///                weight. A client that was idle starts at the level of the others, without credit.
///   round robin  the client whose last block is the oldest
///   deadline, strict  by the urgency of the client's first transfer; ties as in round robin
///
/// A client is *new* if it was idle when its transfer came, and every other client with work could
/// have had a block since its last one. Deadline and strict serve a new client's first block before
/// all others, at most in every second call; the other two do so by their order. So a small
/// transfer of a client that was idle waits for the blocks in flight and one more, under every
/// policy, and the client with the highest claim keeps half of the device against any number of
/// new ones.
///
/// Transfers of a client end in order of submission. Driven by one thread.
class TransferQueue {
 public:
  TransferQueue(TransferPolicy policy, std::int64_t block_bytes)
      : policy_(policy), block_bytes_(block_bytes) {}

  void add_client(ClientId client, std::string name, int weight);
  /// Requires: the client has nothing pending here.
  void remove_client(ClientId client) { clients_.erase(client); }

  void push(PendingTransfer transfer);
  bool has_work() const;

  /// The next block, which counts as in flight from now on; none if every byte is given out.
  std::optional<TransferBlock> next(std::int64_t now_ns);
  /// A block has ended. A failed one ends its transfer once its other blocks have ended too.
  /// Requires: blocks of a client end in the order in which `next` gave them out.
  void end(const TransferBlock& block, const Status& status, std::int64_t now_ns,
           std::vector<FinishedTransfer>& finished);
  /// A block that nobody copied waits again, and is not charged.
  /// Requires: it is the last one of its transfer that `next` gave out.
  void give_back(const TransferBlock& block);

  /// Ends the transfers that `is_meant` selects; one with blocks in flight ends after these.
  /// Returns their number.
  std::size_t cancel(const std::function<bool(const PendingTransfer&)>& is_meant,
                     std::int64_t now_ns, std::vector<FinishedTransfer>& finished);

 private:
  struct Client {
    std::string name;
    std::int64_t weight = 1;
    std::int64_t served = 0;  ///< bytes divided by weight; raised to `level_` after idle time
    std::uint64_t last_turn = 0;
    bool was_idle = false;  ///< and has had no block since
    std::deque<PendingTransfer> queue;

    PendingTransfer* next();
    const PendingTransfer* next() const { return const_cast<Client*>(this)->next(); }  // NOLINT
  };
  using Rank = std::tuple<std::int64_t, std::int64_t, std::uint64_t>;

  static std::int64_t charge_for(const Client& client, const TransferBlock& block);
  Client* choose(ClientId& id);
  Rank rank_of(const Client& client, bool is_new) const;
  static void finish_ended(Client& client, std::int64_t now_ns,
                           std::vector<FinishedTransfer>& finished);

  TransferPolicy policy_;
  std::int64_t block_bytes_;
  std::map<ClientId, Client> clients_;
  std::int64_t level_ = 0;  ///< virtual time: `served` of the client served last, before that block
  std::uint64_t turn_ = 0;
  bool was_new_ = false;  ///< the last block was that of a new client
};

}  // namespace sluice::device
