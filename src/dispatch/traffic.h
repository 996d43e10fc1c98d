// How the requests to a name are divided among the versions of its model.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::dispatch {

/// The version that a client names. Both empty: the daemon chooses. Borrows the text.
struct VersionChoice {
  std::optional<std::int64_t> number = {};
  std::string_view label = {};
};

struct Traffic {
  struct Share {
    std::int64_t version = 1;
    std::int64_t weight = 1;  ///< from 0 to kMaxShare
  };
  static constexpr std::int64_t kMaxShare = 1'000'000;

  std::map<std::string, std::int64_t, std::less<>> labels = {};  ///< the version of each
  /// The weight of each version among requests that name none. Empty: the highest gets all.
  std::vector<Share> shares = {};
  /// Gets a copy of each request to another version, whose answer nobody sees.
  std::optional<std::int64_t> shadow = {};
};

/// Gives turns to versions: of any n requests in a row each version gets its share of n, give or
/// take a few. Safe across threads.
class TrafficTurns {
 public:
  explicit TrafficTurns(Traffic traffic) : traffic_(std::move(traffic)) {}

  const Traffic& traffic() const { return traffic_; }
  /// The version whose turn it is among those that `is_there`; nullopt if none of them has a share.
  template <typename IsThere>
  std::optional<std::int64_t> next(const IsThere& is_there) const;

 private:
  const Traffic traffic_;
  mutable std::atomic<std::uint64_t> num_requests_ = 0;
};

template <typename IsThere>
std::optional<std::int64_t> TrafficTurns::next(const IsThere& is_there) const {
  std::uint64_t total = 0;
  for (const Traffic::Share& share : traffic_.shares) {
    if (is_there(share.version)) total += static_cast<std::uint64_t>(share.weight);
  }
  if (total == 0) return std::nullopt;
  // Multiples of the golden ratio fill [0, 1) evenly (Knuth, TAOCP 3, 6.4), here as a fraction of
  // 2^32; the sum of the weights is below 2^32.
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
  const std::uint64_t turn = num_requests_.fetch_add(1, std::memory_order_relaxed);
  std::uint64_t point = (((turn * kGolden) >> 32) * total) >> 32;
  for (const Traffic::Share& share : traffic_.shares) {
    if (!is_there(share.version)) continue;
    const auto weight = static_cast<std::uint64_t>(share.weight);
    if (point < weight) return share.version;
    point -= weight;
  }
  return std::nullopt;
}

}  // namespace sluice::dispatch
