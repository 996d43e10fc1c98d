// Requests for an inference, their replies, and the interface that accepts requests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "terms/function.h"
#include "terms/runtime_code.h"
#include "terms/tensors/request.h"
#include "terms/tensors/sequence.h"
#include "terms/tensors/signature.h"

namespace sluice::package {
struct Executable;
}

namespace sluice::runtime {

struct Reply {
  /// kOk, or kNumericError with outputs if the model flags NaN. Other codes come without outputs.
  RuntimeCode code = RuntimeCode::kOk;
  terms::ErrorList errors;
  std::vector<terms::OutputTensor> outputs;  ///< by signature index; empty after an error
  terms::ReplyDetail detail;                 ///< filled if the request wants it
  bool is_kept = false;  ///< that of an earlier request: it does not tell how long the model takes
};

/// The reply of a request that fails before a model runs it.
Reply failed_reply(const Status& status);

/// Submitted once.
struct Request {
  std::vector<terms::TensorView> inputs;     ///< all, by signature index
  std::vector<terms::OutputMemory> outputs;  ///< by signature index; may be shorter
  /// By signature index, may be shorter: of inputs whose bytes may lie on a device alone.
  /// Requires: RequestSink::left_on is that device, or one that a copy was brought to.
  std::vector<std::shared_ptr<const terms::LeftBytes>> left_inputs = {};
  /// By signature index, may be shorter: outputs that stay in the memory of the model's device, if
  /// they can; OutputTensor::left says so. Requires: RequestSink::left_on is a device.
  std::vector<bool> left_outputs = {};
  /// Keeps the memory of inputs and outputs alive, which a device may use after the reply: an
  /// expired or cancelled request is answered at once. Null: the caller keeps the memory until the
  /// reply, and the reply waits for the running stage.
  std::shared_ptr<const void> memory_owner;
  std::int64_t deadline_ns = kNoDeadline;  ///< on the engine's clock
  /// When the wait began, for statistics, if another line had the request before; 0: it begins now.
  std::int64_t since_ns = 0;
  std::int64_t max_run_ns = 0;  ///< its client's limit of a run, beside the model's; 0: none
  std::int32_t priority = 0;    ///< a higher number runs first
  bool wants_detail = false;
  /// Owner, a sandbox::OwnerId, whose quota of the exchange counts the tensors that a graph of
  /// functions keeps for its later functions, and a sequence for its later requests; 0: nobody's.
  std::uint64_t exchange_owner = 0;
  std::shared_ptr<const terms::SequencePart> sequence = nullptr;  ///< null: it is for itself
  /// The caller calls RequestSink::wait next and runs the request there: wake no driver thread.
  bool will_wait = false;
  /// Called exactly once for an accepted request, on any thread, without a lock held. It may submit
  /// and cancel, but must not wait.
  std::function<void(Reply)> on_done;

  /// Gives a request without a deadline one `timeout_ns` from now; 0: none.
  void limit(const Clock& clock, std::int64_t timeout_ns);
  /// Brings the bytes of an input, or of all, to the host's memory. Blocks.
  /// Fails: as LeftBytes::fetch, but kFailed for a lost device: it need not be the model's.
  Status fetch_input(std::size_t index) const;
  Status fetch_inputs() const;
};

/// Accepts requests: a started model, a replica set. Safe from any thread.
class RequestSink {
 public:
  RequestSink() = default;
  RequestSink(const RequestSink&) = delete;
  RequestSink& operator=(const RequestSink&) = delete;
  virtual ~RequestSink() = default;

  virtual const terms::Signature& signature() const = 0;
  /// Requests that run at the same time, joined ones too. A sink may accept more, which wait.
  virtual int depth() const = 0;
  /// Rows of a joined run at most; 1: every request runs alone.
  virtual std::int64_t batch_rows() const { return 1; }
  /// Whether `submit` would refuse with kQueueFull now, as far as the sink can tell at once.
  virtual bool is_full() const { return false; }
  /// Joins waiting requests from now on, whoever sends them, and takes them with any number of
  /// rows: the signature and the depth may change. It stays so.
  /// Fails: kInvalid for a model whose requests cannot be joined, or are joined otherwise.
  virtual Status join(const terms::BatchOptions& options);
  virtual Clock& clock() const = 0;
  /// The device in whose memory the model leaves outputs and reads inputs by address, as
  /// LeftBytes::device. Null: it does not, or somebody reads the bytes of requests on their way.
  virtual const void* left_on() const { return nullptr; }
  /// The model's package, with its facts and files; null where this process does not run the model,
  /// or frees its memory.
  virtual std::shared_ptr<const package::Executable> executable() const { return nullptr; }

  /// Accepts the request and returns an id for `cancel`. A refused request stays as it was, and its
  /// on_done is never called.
  /// Fails: kQueueFull    its message says when to try again
  ///        kBadInput
  ///        kTimeout      the deadline has passed, or will before the reply
  ///        kFailed       the model is not started
  ///        kModelFailed
  virtual Result<std::uint64_t> submit(Request& request) = 0;

  /// The request was refused before `submit`, by a quota.
  virtual void refused(const Request& /*request*/) {}

  /// Ends a request in flight with kCancelled; false if no request in flight has this id.
  virtual bool cancel(std::uint64_t id) = 0;

  /// Waits until `is_done` or `deadline_ns`; returns `is_done()`. The sink may run requests on the
  /// caller's thread meanwhile. `is_done` must become true in an on_done of this sink, or before a
  /// call of `tell_waiters`.
  virtual bool wait(const std::function<bool()>& is_done, std::int64_t deadline_ns) = 0;

  /// Makes every thread in `wait` evaluate `is_done` again. Sinks that wrap this one call it after
  /// they answer a request that never reached this one. From any thread, with no lock held.
  virtual void tell_waiters() = 0;
};

/// Submits and waits for the reply; a refusal becomes a reply. Blocks; not from an on_done.
Reply infer(RequestSink& sink, Request request);

/// The refusal of a model whose waiting line is full.
Status queue_full(std::string_view model, int num_waiting, int queue_limit,
                  std::int64_t retry_after_ns);

}  // namespace sluice::runtime
