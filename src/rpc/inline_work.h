// Which requests are computed by the thread of gRPC's that brings them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

namespace sluice::rpc {

/// A request that comes alone, of a model whose requests are short, costs less than waking a thread
/// for it. One that is long, or one of many, goes to its group's thread, so that gRPC's are free
/// for others. Safe across threads.
class InlineWork {
 public:
  /// A request begins; whether its thread computes it. Followed by `leave`.
  bool enter(std::uint64_t model) {
    const std::lock_guard lock(mutex_);
    if (num_inside_++ > 0) return false;
    const auto typical = typical_ns_.find(model);
    return typical != typical_ns_.end() && typical->second < kShortNs;
  }
  /// It has been answered, or refused.
  void leave() {
    const std::lock_guard lock(mutex_);
    --num_inside_;
  }
  /// How long an answer took.
  void learn(std::uint64_t model, std::int64_t took_ns) {
    const std::lock_guard lock(mutex_);
    if (typical_ns_.size() > kMostKnown) typical_ns_.clear();
    typical_ns_[model] = took_ns;
  }

 private:
  static constexpr std::int64_t kShortNs = 200'000;
  static constexpr std::size_t kMostKnown = 1024;

  std::mutex mutex_;
  int num_inside_ = 0;
  std::map<std::uint64_t, std::int64_t> typical_ns_;  ///< by model: its last request
};

}  // namespace sluice::rpc
