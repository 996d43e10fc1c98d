// Inference as a client sees it: inputs, options, replies, and streams of many requests.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "terms/tensors/request.h"
#include "terms/tensors/tensor.h"

namespace sluice::rpc::client {

struct InferOptions {
  std::int64_t timeout_ns = 0;  ///< 0: none
  std::int32_t priority = 0;
  bool wants_detail = false;
  /// By signature index; may be shorter. Where an output should go: memory of `Client::share`. Null
  /// data: the answer brings memory of its own. Not for streams.
  std::vector<terms::OutputMemory> outputs = {};
  /// Names of outputs that stay in the exchange, for `ttl_ns` (0: the daemon's default); the reply
  /// has their indexes.
  std::vector<std::string> kept_outputs = {};
  std::int64_t ttl_ns = 0;
  /// The caller's span and its state, as W3C's Trace Context writes them; empty: none.
  std::string traceparent = {};
  std::string tracestate = {};
};

struct InferReply {
  RuntimeCode code = RuntimeCode::kOk;  ///< or kNumericError
  std::vector<terms::NamedTensor> outputs;
  terms::ReplyDetail detail;
  std::shared_ptr<const void> owner;  ///< of the outputs' memory
};

/// Answer of one request of a stream; its id may be used again.
struct StreamAnswer {
  std::uint64_t id = 0;
  Result<InferReply> reply;
};

/// Many requests on one call. The daemon answers each when it finishes, in any order. One thread
/// at a time may call `next`; any number of threads may call the other functions. Destroying the
/// stream cancels its requests in flight.
///
/// The daemon holds at most `ServerInfo::stream_requests` of a stream and reads no further until it
/// has sent an answer. A client that sends more without reading replies blocks forever.
class InferStream {
 public:
  InferStream() = default;
  InferStream(const InferStream&) = delete;
  InferStream& operator=(const InferStream&) = delete;
  virtual ~InferStream() = default;

  /// `id`: must differ from all requests in flight; a duplicate ends the stream. Blocks while the
  /// daemon does not read. Inputs in memory of `Client::share` are read in place, others are
  /// copied.
  /// Fails: kInvalidArgument for memory of outputs; kUnavailable after the end of the stream, whose
  /// reason `next` returns.
  virtual Status send(std::uint64_t id, std::uint64_t model,
                      const std::vector<terms::NamedTensor>& inputs,
                      const InferOptions& options = {}) = 0;
  /// Completes the request with kCancelled unless its reply is already being sent. Fails: as
  /// `send`.
  virtual Status cancel(std::uint64_t id) = 0;
  /// No more requests. Those in flight are answered.
  virtual void close() = 0;
  /// Ends the call and cancels its requests in flight. `next` fails then, `send` blocks no longer.
  virtual void abort() = 0;
  /// Blocks until an answer comes. Empty when all are here after `close`.
  /// Fails: with what ended the stream. Everything in flight was cancelled then.
  virtual Result<std::optional<StreamAnswer>> next() = 0;
};

/// A stream through a ring in shared memory. It carries no strings, no details, no places of
/// outputs, no indexes of the exchange and no tracestate. Replies keep their entry of the ring
/// until they are destroyed.
class RingStream : public InferStream {
 public:
  /// As `send`, without blocking for an entry. False, and nothing has happened, if the ring cannot
  /// carry the request, has no free entry, or is over.
  virtual bool try_send(std::uint64_t id, std::uint64_t model,
                        const std::vector<terms::NamedTensor>& inputs,
                        const InferOptions& options = {}) = 0;
  /// Blocks until the daemon has passed on to their models all requests that were sent, or the
  /// stream is over. What another stream sends then comes after them.
  virtual void wait_until_passed_on() = 0;
};

}  // namespace sluice::rpc::client
