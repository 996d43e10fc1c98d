// Submitted requests by id.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "api/runtime/runtime.h"
#include "runtime/handle_table.h"

namespace sluice::api {

/// Safe from any thread.
class RequestTable {
 public:
  /// Called with the id of the request.
  using Callback = std::function<void(std::uint64_t request, InferReply reply)>;

  /// With a callback the reply goes to it, and the id is spent before the call. Without it the
  /// reply waits for `poll` or `wait`. Fails: as Runtime::submit; the callback is not called then.
  Result<std::uint64_t> submit(Runtime& runtime, const InferCall& call, Callback callback);

  // A posted request is its daemon's: `runtime` knows it, and these calls wait for its answer.
  static bool is_posted(std::uint64_t request) {
    return runtime::kind_of(request) == runtime::HandleKind::kPosted;
  }

  /// Takes the reply; its own status is the request's.
  /// Fails: kPending; kInvalidHandle; kFailed for a request with a callback.
  Result<InferReply> poll(Runtime& runtime, std::uint64_t request);
  /// Waits at most `timeout_ns`, -1 without limit, then polls.
  Result<InferReply> wait(Runtime& runtime, std::uint64_t request, TimeoutNs timeout_ns);
  /// Fails: kInvalidHandle.
  Status cancel(Runtime& runtime, std::uint64_t request);

 private:
  struct Posted {
    bool has_callback = false;
    std::atomic<bool> is_done = false;
    InferReply reply;  ///< written before is_done, taken once
    std::mutex mutex;
    std::shared_ptr<Flight> flight;  ///< null until the runtime has accepted the request
  };

  Result<std::shared_ptr<Posted>> find(std::uint64_t request) const;

  runtime::HandleTable<Posted> posted_;
};

}  // namespace sluice::api
