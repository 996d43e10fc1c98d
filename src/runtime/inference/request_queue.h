// Requests that wait for a slot.
#pragma once

#include <optional>
#include <vector>

#include "runtime/request.h"

namespace sluice::runtime {

struct PendingRequest {
  std::uint64_t id = 0;
  std::int64_t submitted_ns = 0;
  Request request;
};

/// By priority, then deadline, then arrival. Not thread-safe. All operations are linear in the
/// number that wait, which a model's depth bounds.
class RequestQueue {
 public:
  void push(PendingRequest pending);
  /// The one that goes next.
  std::optional<PendingRequest> pop();
  std::optional<PendingRequest> take(std::uint64_t id);
  /// Those whose deadline is `now_ns` or before.
  std::vector<PendingRequest> take_expired(std::int64_t now_ns);
  std::vector<PendingRequest> take_all();

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  /// kNoDeadline if none has one.
  std::int64_t next_deadline_ns() const;

 private:
  std::vector<PendingRequest> waiting_;  // in order of arrival
};

}  // namespace sluice::runtime
