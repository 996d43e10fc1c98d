#include "terms/function.h"

#include "terms/runtime_code.h"

namespace sluice::terms {

Status check(const BatchOptions& options) {
  if (options.rows < 0 || options.rows > kMaxBatchRows) {
    return runtime_error(RuntimeCode::kInvalid, "batch_rows: {} is not between 0 and {}",
                         options.rows, kMaxBatchRows);
  }
  if (options.max_delay_ns >= 0) return ok_status();
  return runtime_error(RuntimeCode::kInvalid, "max_delay: {} ns is negative", options.max_delay_ns);
}

Status check(const ProgramOptions& options) {
  constexpr std::size_t kMaxArguments = 1024;
  constexpr std::size_t kMaxBytes = 64 * 1024;
  std::size_t bytes = 0;
  for (const std::string& argument : options.arguments) {
    if (argument.find('\0') != std::string::npos) {
      return runtime_error(RuntimeCode::kInvalid, "an argument of the program holds a zero byte");
    }
    bytes += argument.size() + 1;
  }
  if (options.arguments.size() <= kMaxArguments && bytes <= kMaxBytes) return ok_status();
  return runtime_error(RuntimeCode::kInvalid,
                       "a program takes {} arguments of {} bytes together at most", kMaxArguments,
                       kMaxBytes);
}

Status check(const FunctionOptions& options) {
  if (options.share < 1 || options.share > kMaxWeight) {
    return runtime_error(RuntimeCode::kInvalid, "a share of {} is not between 1 and {}",
                         options.share, kMaxWeight);
  }
  if (options.memory_bytes < 0) {
    return runtime_error(RuntimeCode::kInvalid, "a memory quota of {} bytes is negative; 0 is none",
                         options.memory_bytes);
  }
  if (options.keep_warm_ns < 0) {
    return runtime_error(RuntimeCode::kInvalid, "a keep-warm time of {} ns is negative",
                         options.keep_warm_ns);
  }
  if (options.program) {
    SLUICE_TRY(check(*options.program));
    if (options.batch_rows > 0) {
      return runtime_error(RuntimeCode::kInvalid,
                           "batch_rows: requests of a program are not joined; leave it out");
    }
  }
  return check(BatchOptions{options.batch_rows, 0});
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

}  // namespace sluice::terms
