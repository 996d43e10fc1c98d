// Schedules the copies of one direction between host and device.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "backend/command_list.h"
#include "base/clock.h"
#include "device/stream_pool.h"
#include "device/transfer.h"

namespace sluice::device {

/// A transfer that waits or is under way.
struct PendingTransfer {
  TransferId id = {};
  Transfer transfer;
  std::int64_t submitted_ns = 0;
  std::int64_t started_ns = -1;  ///< -1 before the first block
  std::int64_t copied_bytes = 0;
};

struct FinishedTransfer {
  std::function<void(const TransferReport&)> on_done;
  TransferReport report;
};

/// Copies one block at a time, each of the client that has had the least for its weight so far
/// (start-time fair queueing: V. Goyal et al., SIGCOMM 1996). A client that was idle gets no credit
/// for that time: it starts at the level of the active clients. Ties go to the client that has
/// waited longer for its turn, so a new client's block starts next. Driven by one thread.
class TransferLane {
 public:
  TransferLane(std::shared_ptr<const backend::Group> group, PooledStream stream,
               std::int64_t block_bytes)
      : group_(std::move(group)), stream_(std::move(stream)), block_bytes_(block_bytes) {}

  void add_client(ClientId client, std::string name, int weight);
  /// Requires: the client has nothing pending here.
  void remove_client(ClientId client) { clients_.erase(client); }

  void push(PendingTransfer transfer);
  bool has_work() const;
  bool is_copying() const { return block_.has_value(); }

  /// Waits up to `timeout_ns` (below 0: indefinitely) for the running block, and starts the next.
  /// Returns whether anything changed; ended transfers are added to `finished`.
  bool step(const Clock& clock, std::int64_t timeout_ns, std::vector<FinishedTransfer>& finished);

  /// Cancels the transfers that `is_meant` selects; a transfer with a block in progress ends after
  /// this block. Returns their number.
  std::size_t cancel(const Clock& clock,
                     const std::function<bool(const PendingTransfer&)>& is_meant,
                     std::vector<FinishedTransfer>& finished);

 private:
  struct Client {
    std::string name;
    std::int64_t weight = 1;
    std::int64_t served = 0;  ///< bytes divided by weight; raised to `level_` after idle time
    std::uint64_t last_turn = 0;
    std::deque<PendingTransfer> queue;
  };
  struct Block {
    ClientId client;
    std::int64_t size_bytes = 0;
    bool is_cancelled = false;
  };

  bool poll_block(const Clock& clock, std::int64_t timeout_ns,
                  std::vector<FinishedTransfer>& finished);
  bool start_block(const Clock& clock, std::vector<FinishedTransfer>& finished);
  Status submit_block(const PendingTransfer& transfer, std::int64_t size_bytes);
  Client* next_client(ClientId& id);
  void finish_front(Client& client, Status status, const Clock& clock,
                    std::vector<FinishedTransfer>& finished);
  Result<const backend::CommandList*> copy_list(std::int64_t size_bytes);

  std::shared_ptr<const backend::Group> group_;
  std::map<std::int64_t, backend::CommandList> lists_;  // by size; outlive the stream's work
  PooledStream stream_;
  std::int64_t block_bytes_;
  std::map<ClientId, Client> clients_;
  std::int64_t level_ = 0;  ///< virtual time: `served` of the client served last, before that block
  std::uint64_t turn_ = 0;
  std::optional<Block> block_;
};

}  // namespace sluice::device
