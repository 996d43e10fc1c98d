// Ends what a silent client holds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace sluice::rpc::server {

/// Whether nothing has happened for a while. Used by one thread.
class IdleLimit {
 public:
  /// `clock` outlives this.
  explicit IdleLimit(std::int64_t limit_ns, const Clock& clock = system_clock())
      : clock_(clock), limit_ns_(limit_ns), end_ns_(deadline_after(clock, limit_ns)) {}

  /// Something happened: the time begins anew.
  void restart() { end_ns_ = deadline_after(clock_, limit_ns_); }
  /// 0: the time is over.
  std::int64_t left_ns() const { return std::max<std::int64_t>(end_ns_ - clock_.now_ns(), 0); }

 private:
  const Clock& clock_;
  const std::int64_t limit_ns_;
  std::int64_t end_ns_;
};

}  // namespace sluice::rpc::server
