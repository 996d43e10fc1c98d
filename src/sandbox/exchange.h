// The exchange of a daemon: an ExchangeTable for all threads.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sandbox/exchange_table.h"

namespace sluice::sandbox {

struct ExchangeOptions {
  ExchangeLimits limits = {};
  std::int64_t default_ttl_ns = 60'000'000'000;  ///< where a put names no time to live
  std::int64_t max_ttl_ns = 3'600'000'000'000;
};

/// Keeps memory of owners that is no tensor of the table, such as the states of sequences.
/// Called from any thread, without a lock of the exchange.
class ExchangeHolder {
 public:
  ExchangeHolder() = default;
  ExchangeHolder(const ExchangeHolder&) = delete;
  ExchangeHolder& operator=(const ExchangeHolder&) = delete;
  virtual ~ExchangeHolder() = default;

  /// Ends what is over at `now_ns`. Returns when the next thing is; kNoDeadline if nothing is.
  virtual std::int64_t expire(std::int64_t now_ns) = 0;
  /// The owner has ended.
  virtual void drop(OwnerId owner) = 0;
};

/// Safe from any thread. A thread of its own frees tensors whose time to live is over, and looks
/// after the holders.
class Exchange {
 public:
  /// `clock` outlives the exchange.
  Exchange(Clock& clock, const ExchangeOptions& options);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange();

  /// An owner begins, until `drop`. `payer`: as in ExchangeTable.
  void add(OwnerId owner, std::shared_ptr<ByteBudget> payer = nullptr);
  /// Keeps the tensor for `ttl_ns`; 0: the default. Copies nothing.
  /// Fails: as ExchangeTable::put; kInvalid for a time to live that is negative or too long.
  Result<terms::TensorIndex> put(OwnerId owner, terms::OutputTensor tensor,
                                 std::int64_t ttl_ns = 0);
  /// Fails: kInvalid for a time to live that is negative or too long.
  Status check_ttl(std::int64_t ttl_ns) const;
  /// Room for a tensor that is yet to come, and to put it there. Fails: as ExchangeTable::reserve
  /// and as put.
  Result<ExchangeTable::Room> reserve(OwnerId owner, std::int64_t bytes,
                                      RoomKind kind = RoomKind::kTensor);
  Result<terms::TensorIndex> put(OwnerId owner, terms::OutputTensor tensor,
                                 ExchangeTable::Room room, std::int64_t ttl_ns);
  /// The tensor in the host's memory. Blocks while the bytes come from a device that they were left
  /// on. Fails: as ExchangeTable::get and LeftBytes::fetch.
  Result<ExchangeTable::Lease> get(OwnerId owner, terms::TensorIndex index) const;
  /// The tensor where it lies, which may be a device. Fails: as ExchangeTable::get.
  Result<ExchangeTable::Lease> find(OwnerId owner, terms::TensorIndex index) const;
  Status remove(OwnerId owner, terms::TensorIndex index);
  Status keep_copy(OwnerId owner, terms::TensorIndex index, std::shared_ptr<const void> copy);
  /// For other hosts. Fails: as in ExchangeTable and `get`.
  Result<std::string> offer(OwnerId owner, terms::TensorIndex index);
  Result<ExchangeTable::Lease> get_offered(terms::TensorIndex index, std::string_view key) const;
  /// Tells the holders, too.
  void drop(OwnerId owner);
  ExchangeUsage usage(OwnerId owner) const;

  /// The holder hears of times and owners as long as it lives.
  void add(std::weak_ptr<ExchangeHolder> holder);
  /// The holders have something that is over at `at_ns`.
  void look_at(std::int64_t at_ns);

 private:
  void run();
  void visit_holders(std::unique_lock<std::mutex>& lock,
                     const std::function<void(ExchangeHolder&)>& visit);

  Clock& clock_;
  const ExchangeOptions options_;
  mutable std::mutex mutex_;  ///< guards the members up to `is_over_`
  std::condition_variable changed_;
  ExchangeTable table_;
  std::vector<std::weak_ptr<ExchangeHolder>> holders_;  ///< each keeps its place
  std::int64_t next_look_ns_ = kNoDeadline;             ///< at the holders
  bool is_over_ = false;
  std::thread thread_;  ///< last: uses the members above
};

}  // namespace sluice::sandbox
