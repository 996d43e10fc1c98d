// Replies of models that are kept for requests that come again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/byte_budget.h"
#include "base/clock.h"
#include "base/containers/lru_map.h"
#include "sandbox/exchange.h"
#include "service/clients/client_memory.h"
#include "terms/tensors/tensor.h"

namespace sluice::service {

/// A model, as it was loaded once, and what a tenant asked of it.
struct ReplyKey {
  std::uint64_t model = 0;
  sandbox::OwnerId owner{};  ///< the tenant
  /// SHA-256 (FIPS 180-4) of model, tenant and all inputs: two requests of equal digests are equal.
  std::array<std::byte, 32> digest = {};

  bool operator==(const ReplyKey&) const = default;
};

struct ReplyKeyHash {
  std::size_t operator()(const ReplyKey& key) const {
    std::size_t hash = 0;
    std::memcpy(&hash, key.digest.data(), sizeof(hash));  // the other members are in the digest
    return hash;
  }
};

/// Outputs in memory of their own, by signature index.
struct KeptReply {
  std::vector<terms::TensorView> outputs;  ///< all in `memory`
  std::shared_ptr<std::byte> memory;
  ByteCharge charge;  ///< of the tenant's memory, as long as somebody reads the reply
};

/// Kept replies of all models of a daemon: the least recently used go when there is no room. Those
/// of a tenant that has ended cannot be asked for: the exchange reports its end, and none is kept
/// after that.
///
/// Each is charged to its tenant, and takes no room that the tenant needs: it is kept while the
/// account holds less than half of what it may, and those kept before go first. Safe across
/// threads.
class KeptReplies final : public sandbox::ExchangeHolder {
 public:
  using Shared = std::shared_ptr<const KeptReply>;

  explicit KeptReplies(std::int64_t limit_bytes) : replies_(limit_bytes) {}

  /// A tenant begins, until `drop`; `memory` is its account's. Before, none of its replies is kept.
  void add(sandbox::OwnerId tenant, const AccountMemory& memory);
  /// Null: there is none.
  Shared find(const ReplyKey& key);
  /// Keeps copies of the outputs, if they have room. May throw for want of memory.
  void insert(const ReplyKey& key, const std::vector<terms::OutputTensor>& outputs);
  /// All of a model.
  void erase(std::uint64_t model);
  std::int64_t expire(std::int64_t /*now_ns*/) override { return kNoDeadline; }
  /// All of a tenant.
  void drop(sandbox::OwnerId owner) override;

  std::int64_t held_bytes() const;

 private:
  struct Payer {
    std::shared_ptr<ByteBudget> kept;
    std::shared_ptr<ByteBudget> all;  ///< of the account
  };
  std::shared_ptr<ByteBudget> make_room(sandbox::OwnerId tenant, std::int64_t bytes);

  mutable std::mutex mutex_;
  std::map<sandbox::OwnerId, Payer> payers_;
  LruMap<ReplyKey, Shared, ReplyKeyHash> replies_;
};

}  // namespace sluice::service
