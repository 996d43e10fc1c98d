// A moment that work waits for: something submitted before is done.
#pragma once

#include <memory>

#include "base/status.h"

namespace sluice::device {

/// pending --> done, or failed. Written by the queue that made it; read by the thread that drives
/// that queue.
class Event {
 public:
  bool is_pending() const { return is_pending_; }
  /// Requires: !is_pending().
  const Status& status() const { return status_; }

  /// Once.
  void signal(Status status) {
    status_ = std::move(status);
    is_pending_ = false;
  }

 private:
  bool is_pending_ = true;
  Status status_;
};

using EventPtr = std::shared_ptr<const Event>;

}  // namespace sluice::device
