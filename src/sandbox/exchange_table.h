// Tensors that functions pass to each other by index.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/byte_budget.h"
#include "runtime/request/request.h"
#include "terms/tensors/exchange.h"

namespace sluice::sandbox {

/// Who put a tensor: a session of the daemon.
enum class OwnerId : std::uint64_t {};
/// Limits of each owner. Tensors that were removed count until their last lease ends.
struct ExchangeLimits {
  std::int64_t max_bytes = std::int64_t{1} << 30;
  std::int64_t max_tensors = 4096;
};
/// A state of a sequence counts by its bytes alone: the number of sequences has limits of its own.
enum class RoomKind : std::uint8_t { kTensor, kState };

/// What an owner's tensors hold.
struct ExchangeUsage {
  std::int64_t bytes = 0;
  std::int64_t num_tensors = 0;
};

/// The state of an exchange: PUT, GET and the ends of tensors. It copies no bytes and frees a
/// tensor's memory when the tensor has left the table and its last lease has ended.
///
///     put --> in the table --remove, its time is over, its owner ends--> leased --last lease-->
///     gone
///
/// An owner exists from `add` to `drop`. A request that outlives its owner leaves nothing here.
///
/// Not thread-safe, but leases may end on any thread. Times are the caller's.
class ExchangeTable {
 public:
  /// A tensor that somebody reads; copies count. Its bytes stay where they are.
  using Lease = std::shared_ptr<const terms::OutputTensor>;

  /// Counts a tensor of the owner that is yet to come, until the last copy goes.
  using Room = std::shared_ptr<const void>;

  /// An owner begins; nothing happens if it has begun. `payer` is charged for its tensors; null:
  /// nobody.
  void add(OwnerId owner, std::shared_ptr<ByteBudget> payer = nullptr);
  /// Fails: kOutOfResources over the limits or the payer's; kCancelled for an owner that has ended.
  Result<Room> reserve(OwnerId owner, std::int64_t bytes, const ExchangeLimits& limits,
                       RoomKind kind = RoomKind::kTensor);
  /// `tensor.owner` keeps the bytes alive and unchanged. It leaves the table at `expires_ns`.
  /// Requires: `room` is of this owner and of the tensor's size.
  /// Fails: kInvalid for a tensor whose memory nobody owns; kCancelled for an owner that has ended.
  Result<terms::TensorIndex> put(OwnerId owner, terms::OutputTensor tensor, std::int64_t expires_ns,
                                 Room room);
  /// The same with room of its own. Fails: as reserve, too.
  Result<terms::TensorIndex> put(OwnerId owner, terms::OutputTensor tensor, std::int64_t expires_ns,
                                 const ExchangeLimits& limits);
  /// Fails: kInvalidHandle for an unknown index, one that has left the table, or another owner's.
  Result<Lease> get(OwnerId owner, terms::TensorIndex index) const;
  /// Fails: as `get`.
  Status remove(OwnerId owner, terms::TensorIndex index);
  /// Keeps a copy of the tensor in the memory of a device until the tensor leaves the table. The
  /// same copy counts once. Fails: as `get`.
  Status keep_copy(OwnerId owner, terms::TensorIndex index, std::shared_ptr<const void> copy);
  /// Other hosts may read the tensor from now on, if they say the key, which is a secret of this
  /// tensor: an index alone means another tensor once the daemon was started again. The same key
  /// each time. Fails: as `get`; kUnavailable as make_secret.
  Result<std::string> offer(OwnerId owner, terms::TensorIndex index);
  /// What `offer` gave a key for. Fails: kInvalidHandle for a tensor that has left the table, was
  /// not offered, or has another key.
  Result<Lease> get_offered(terms::TensorIndex index, std::string_view key) const;
  /// The owner ends: all its tensors leave the table, and no others come.
  void drop(OwnerId owner);
  /// Tensors whose time is over leave the table.
  void expire(std::int64_t now_ns);
  /// When the next tensor leaves by time; kNoDeadline if none does.
  std::int64_t next_expiry_ns() const;

  ExchangeUsage usage(OwnerId owner) const;
  std::size_t size() const { return entries_.size(); }

 private:
  /// Shared with the leases: the last one counts the tensor out.
  struct Counts {
    std::atomic<std::int64_t> bytes = 0;
    std::atomic<std::int64_t> num_tensors = 0;
    std::shared_ptr<ByteBudget> payer;
  };
  struct Entry {
    OwnerId owner = {};
    std::int64_t expires_ns = 0;
    Lease tensor;
    std::string key = {};                               ///< empty: not offered
    std::set<std::shared_ptr<const void>> copies = {};  ///< on devices
  };
  using Entries = std::map<terms::TensorIndex, Entry>;

  Result<Entries::const_iterator> find(OwnerId owner, terms::TensorIndex index) const;
  void erase(Entries::const_iterator entry);

  std::uint64_t last_index_ = 0;
  Entries entries_;
  std::set<std::pair<std::int64_t, terms::TensorIndex>> by_expiry_;
  std::map<OwnerId, std::set<terms::TensorIndex>> by_owner_;
  std::map<OwnerId, std::shared_ptr<Counts>> counts_;  ///< of owners that have not ended
};

}  // namespace sluice::sandbox
