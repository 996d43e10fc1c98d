// Inference as a client sees it: what goes, what comes, and many requests on one call.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "service/types.h"

namespace sluice::rpc {

/// An input of a request; its memory is borrowed for the call.
struct NamedTensor {
  std::string name;
  exec::TensorView view;
};

struct InferOptions {
  std::int64_t timeout_ns = 0;  ///< 0: none
  std::int32_t priority = 0;
  bool wants_detail = false;
  /// By signature index; may be shorter. Where an output should go: memory of `Client::share`. Null
  /// data: the answer brings memory of its own. Not for streams.
  std::vector<runtime::OutputMemory> outputs = {};
};

struct InferReply {
  runtime::RuntimeCode code = runtime::RuntimeCode::kOk;  ///< or kNumericError
  std::vector<NamedTensor> outputs;
  runtime::ReplyDetail detail;
  std::shared_ptr<const void> owner;  ///< of the outputs' memory
};

/// Of one request of a stream; its id may be used again.
struct StreamAnswer {
  std::uint64_t id = 0;
  Result<InferReply> reply;
};

/// Requests that are answered as they finish, in any order. One thread at a time may be in `next`,
/// any number in the others beside it. Its end cancels what is in flight.
///
/// The daemon holds at most `ServerInfo::stream_requests` of a stream and reads no further until it
/// has sent an answer. Whoever sends more than that without taking answers waits for ever.
class InferStream {
 public:
  InferStream() = default;
  InferStream(const InferStream&) = delete;
  InferStream& operator=(const InferStream&) = delete;
  virtual ~InferStream() = default;

  /// `id`: of no other request in flight; one that is ends the stream. Blocks while the daemon
  /// reads no further. Inputs in memory of `Client::share` stay there, others are copied. Fails:
  /// kInvalidArgument for memory of outputs; kUnavailable once the stream has ended, `next` tells
  /// why.
  virtual Status send(std::uint64_t id, std::uint64_t model, const std::vector<NamedTensor>& inputs,
                      const InferOptions& options = {}) = 0;
  /// The request is answered with kCancelled, if its answer is not on its way. Fails: as `send`.
  virtual Status cancel(std::uint64_t id) = 0;
  /// No more requests. Those in flight are answered.
  virtual void close() = 0;
  /// Blocks until an answer comes. Empty when all are here after `close`.
  /// Fails: with what ended the stream. Everything in flight was cancelled then.
  virtual Result<std::optional<StreamAnswer>> next() = 0;
};

}  // namespace sluice::rpc
