// Ids of traces and spans, and the choice of requests that are traced.
#pragma once

#include <cstdint>

#include "terms/server/trace_context.h"

namespace sluice::telemetry {

/// New ids, different in all threads and processes, and never all zeros.
terms::TraceId new_trace_id();
terms::SpanId new_span_id();
/// One of `rate` calls, at random, returns true. Requires: rate > 0.
bool is_one_of(std::int64_t rate);

}  // namespace sluice::telemetry
