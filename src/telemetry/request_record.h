// What is known of a request when it is over: what a trace and a line of the access log are made
// of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_budget.h"
#include "base/status.h"
#include "terms/server/trace_context.h"
#include "terms/tensors/request.h"

namespace sluice::telemetry {

/// An input as a model got it.
struct RecordedInput {
  std::string name;
  std::int32_t element_type = 0;  ///< ONNX's number
  std::vector<std::int64_t> dims;
  std::string bytes;  ///< as terms::TensorView has them
};

/// Times are on the machine's monotonic clock, those of `detail` on the engine's.
struct RequestRecord {
  std::string id;    ///< the client's `x-request-id`, or one that the daemon made
  std::string door;  ///< "grpc", "open-inference", both with "-stream", "http", "ring"
  std::string user;  ///< account of the caller; empty: refused before it was known
  std::string call;  ///< of HTTP: method and path; else empty
  std::string model;
  std::int64_t version = 0;             ///< of the model
  terms::TraceContext trace;            ///< with the request's own span
  std::optional<terms::SpanId> parent;  ///< the caller's span
  std::string tracestate;               ///< the caller's, unchanged
  Code code = Code::kCancelled;         ///< until it is answered
  std::string message;                  ///< of an error
  int http_status = 0;                  ///< 0: no HTTP
  std::int64_t bytes_in = 0;            ///< of the inputs, or of the body
  std::int64_t bytes_out = 0;
  std::int64_t start_ns = 0;
  std::int64_t submitted_ns = 0;  ///< to the model; 0: never
  std::int64_t answered_ns = 0;   ///< by the model; 0: never
  std::int64_t end_ns = 0;
  std::int64_t engine_offset_ns = 0;  ///< to add to a time of the engine's clock
  std::int64_t wall_offset_ns = 0;    ///< to add for nanoseconds since 1970
  terms::ReplyDetail detail;          ///< of requests that ran
  std::vector<RecordedInput> inputs;  ///< for whoever records traffic
  ByteCharge inputs_charge;           ///< the same; what they take of its memory
  std::int32_t priority = 0;          ///< the same
};

}  // namespace sluice::telemetry
