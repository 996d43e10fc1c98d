// Requests as spans of OpenTelemetry's protocol: https://opentelemetry.io/docs/specs/otlp/
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "telemetry/request_record.h"

namespace sluice::telemetry {

/// An ExportTraceServiceRequest of opentelemetry.proto.collector.trace.v1, in protobuf's encoding.
///
/// A request is a span of the kind SERVER, `infer MODEL`, whose parent is the caller's. Its
/// children follow each other: `queue`, then `copy in`, `segment N` and `copy out` as the engine
/// timed them, then `reply`. The stages of a run that joined several requests are children of
/// `batch`. A worker process tells sums alone: one span, `compute`, stands for its stages.
struct SpanBatch {
  std::string request;
  std::size_t num_requests = 0;  ///< of `records`, from the front
  std::int64_t num_spans = 0;
};
/// Takes records, at least one, until their spans have `most_bytes`.
/// Requires: `records` is not empty.
SpanBatch to_otlp(std::span<const std::shared_ptr<const RequestRecord>> records,
                  const std::string& version, std::size_t most_bytes);

}  // namespace sluice::telemetry
