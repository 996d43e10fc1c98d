// Which trace a request belongs to, as W3C's Trace Context says:
// https://www.w3.org/TR/trace-context/
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::terms {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

/// A span of a trace. Neither id is all zeros in a valid one.
struct TraceContext {
  TraceId trace = {};
  SpanId span = {};
  bool is_sampled = false;
};

/// The value of `traceparent`, "00-<32 hex digits>-<16 hex digits>-<2 hex digits>", or of a later
/// version that begins so. Nullopt for anything else: the standard says to begin a new trace then.
std::optional<TraceContext> parse_traceparent(std::string_view text);
std::string to_traceparent(const TraceContext& context);

/// In lower-case hex digits.
std::string to_hex(const TraceId& id);
std::string to_hex(const SpanId& id);

}  // namespace sluice::terms
