#include "sandbox/function.h"

namespace sluice::sandbox {

using runtime::runtime_error;
using runtime::RuntimeCode;

Status check(const FunctionOptions& options) {
  if (options.share < 1 || options.share > runtime::kMaxWeight) {
    return runtime_error(RuntimeCode::kInvalid, "a share of {} is not between 1 and {}",
                         options.share, runtime::kMaxWeight);
  }
  if (options.memory_bytes < 0) {
    return runtime_error(RuntimeCode::kInvalid, "a memory quota of {} bytes is negative; 0 is none",
                         options.memory_bytes);
  }
  if (options.keep_warm_ns < 0) {
    return runtime_error(RuntimeCode::kInvalid, "a keep-warm time of {} ns is negative",
                         options.keep_warm_ns);
  }
  return runtime::check(runtime::BatchOptions{options.batch_rows, 0});
}

std::int64_t cools_at_ns(const Function& function) {
  const std::int64_t keep_ns = function.options.keep_warm_ns;
  if (!function.model || !function.line.empty()) return kNoDeadline;
  // --always-warm is the longest time; the sum must not overflow.
  return keep_ns > kNoDeadline - function.last_used_ns ? kNoDeadline
                                                       : function.last_used_ns + keep_ns;
}

std::string_view phase_name(FunctionPhase phase) {
  switch (phase) {
    case FunctionPhase::kCold: return "cold";
    case FunctionPhase::kWarm: return "warm";
    case FunctionPhase::kRunning: break;
  }
  return "running";
}

FunctionPhase parse_function_phase(std::string_view name) {
  for (const FunctionPhase phase : {FunctionPhase::kCold, FunctionPhase::kWarm}) {
    if (name == phase_name(phase)) return phase;
  }
  return FunctionPhase::kRunning;
}

}  // namespace sluice::sandbox
