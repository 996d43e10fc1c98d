// A bounded number of things at a time.
#pragma once

#include <atomic>

namespace sluice::dispatch {

/// Counts in `count` while it lives. `count` outlives it. Safe across threads.
class Turn {
 public:
  Turn(std::atomic<int>& count, int most) : count_(count), is_free_(++count <= most) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { --count_; }
  /// False where `most` others live: whoever asked is refused.
  bool is_free() const { return is_free_; }

 private:
  std::atomic<int>& count_;
  const bool is_free_;
};

}  // namespace sluice::dispatch
