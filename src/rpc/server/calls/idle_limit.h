// Ends what a silent client holds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/clock.h"

namespace sluice::rpc::server {

/// Calls `on_idle` once nothing has happened for a while. Used by one thread at a time.
class IdleLimit {
 public:
  /// `on_idle` runs on a thread of gRPC's, at most once, and does not destroy this.
  /// `clock` outlives this.
  IdleLimit(std::int64_t limit_ns, std::function<void()> on_idle,
            const Clock& clock = system_clock());
  IdleLimit(const IdleLimit&) = delete;
  IdleLimit& operator=(const IdleLimit&) = delete;
  ~IdleLimit() { stop(); }

  /// Something happened: the time begins anew.
  void restart();
  /// `on_idle` is not called any more, and is not running afterwards.
  void stop();

 private:
  struct State;
  static void wait(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace sluice::rpc::server
