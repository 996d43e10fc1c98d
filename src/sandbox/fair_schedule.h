// Which function runs next on a lane.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/id.h"

namespace sluice::sandbox {

using FunctionId = Id<struct FunctionTag>;

/// Strict between priorities, fair by share within one: the ready function that has used the least
/// time per share is next (start-time fair queueing). A function that was idle begins at the level
/// of the others, so that idleness saves up no claim. Plain data; the lane locks.
class FairSchedule {
 public:
  static constexpr std::int32_t kMaxShare = 1000;

  /// Requires: `id` is not in the schedule; 1 <= share <= kMaxShare.
  void add(FunctionId id, std::int32_t share, std::int32_t priority);
  void remove(FunctionId id);
  /// Whether the function has work.
  void set_ready(FunctionId id, bool is_ready);
  /// None if no function is ready.
  std::optional<FunctionId> next() const;
  /// The function has used the lane for this long.
  void charge(FunctionId id, std::int64_t used_ns);

 private:
  struct Entry {
    std::int32_t share = 1;
    std::int32_t priority = 0;
    std::int64_t used = 0;  ///< time x kMaxShare / share
    bool is_ready = false;
  };
  struct Level {
    std::int64_t floor = 0;  ///< `used` of the function charged last: a newcomer's least
    std::set<std::pair<std::int64_t, FunctionId>> ready;  ///< by `used`
  };

  std::map<FunctionId, Entry> entries_;
  std::map<std::int32_t, Level, std::greater<>> levels_;  ///< by priority
};

}  // namespace sluice::sandbox
