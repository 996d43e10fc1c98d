// An inference that somebody asked for, its answer, and who takes such requests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "exec/loaded_model.h"
#include "package/executable.h"
#include "runtime/runtime_code.h"

namespace sluice::runtime {

/// A caller's memory for an output. Null data: the answer brings memory of its own.
struct OutputMemory {
  void* data = nullptr;
  std::int64_t capacity_bytes = 0;
};

/// An output of an answer. `owner` keeps memory of the runtime's alive; null for the caller's own.
struct OutputTensor {
  exec::TensorView view;
  std::shared_ptr<const void> owner;
};

/// Where a request's time went and what ran it.
struct ReplyDetail {
  std::uint64_t group = 0;            ///< handle of the core group
  std::vector<std::int32_t> cores;    ///< logical ids
  std::vector<std::string> backends;  ///< by segment
  std::int64_t queue_ns = 0;          ///< from submission to the first stage
  std::int64_t copy_ns = 0;           ///< in and out
  std::int64_t compute_ns = 0;        ///< all segments
};

struct Reply {
  /// kOk; kNumericError with outputs where the model's policy is to flag; else why there are none.
  RuntimeCode code = RuntimeCode::kOk;
  ErrorList errors;
  std::vector<OutputTensor> outputs;  ///< by signature index; empty if it failed
  ReplyDetail detail;                 ///< filled where the request wants it
};

/// Move-only in spirit: whoever holds it sends it once.
struct Request {
  std::vector<exec::TensorView> inputs;  ///< all, by signature index
  std::vector<OutputMemory> outputs;     ///< by signature index; may be shorter
  /// Keeps the memory of inputs and outputs alive. With it, an expired or cancelled request is
  /// answered at once, while the device may still read and write that memory. Without it the memory
  /// is borrowed until the answer, which then waits for the stage that is running.
  std::shared_ptr<const void> memory_owner;
  std::int64_t deadline_ns = kNoDeadline;  ///< on the engine's clock
  std::int32_t priority = 0;               ///< higher goes first
  bool wants_detail = false;
  /// The caller goes straight into RequestSink::wait: nobody else need be woken for the work.
  bool will_wait = false;
  /// Called exactly once if the request was taken, on any thread, without a lock held. It may
  /// submit and cancel, but must not wait.
  std::function<void(Reply)> on_done;
};

/// A model that takes requests. Safe from any thread.
class RequestSink {
 public:
  RequestSink() = default;
  RequestSink(const RequestSink&) = delete;
  RequestSink& operator=(const RequestSink&) = delete;
  virtual ~RequestSink() = default;

  virtual const package::Signature& signature() const = 0;
  /// Most requests in flight; one more is refused with kQueueFull.
  virtual int depth() const = 0;
  virtual Clock& clock() const = 0;

  /// Takes the request and tells an id for `cancel`; or refuses, leaves it as it was and never
  /// calls its on_done. Fails: kQueueFull; kBadInput; kTimeout for a deadline that has passed;
  /// kFailed for a model that
  ///        is not started; kModelFailed.
  virtual Result<std::uint64_t> submit(Request& request) = 0;

  /// Has a request that is not answered yet answered with kCancelled; false if there is none.
  virtual bool cancel(std::uint64_t id) = 0;

  /// Returns when `is_done` or at `deadline_ns`; whether it is done. The caller's thread may be
  /// used to do the work that it waits for. `is_done` becomes true by an on_done of this sink, or
  /// before a `tell_waiters`.
  virtual bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) = 0;

  /// Has everybody in `wait` look at `is_done` again: for sinks around this one, which also answer
  /// requests that never came here. From any thread, with no lock held.
  virtual void tell_waiters() = 0;
};

/// Submits and waits for the answer. A refusal is an answer too. Blocks; not from an on_done.
Reply infer(RequestSink& sink, Request request);

}  // namespace sluice::runtime
