// Functions: their options and states.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "terms/field.h"

namespace sluice::terms {

/// Weights of models and shares of functions; each gets time in proportion.
inline constexpr int kMaxWeight = 1000;

inline constexpr std::int64_t kMaxBatchRows = 65536;

/// How waiting requests of a model are joined to one run, along the leading dimension.
struct BatchOptions {
  std::int64_t rows = 0;          ///< of a run at most; 0: the compiled leading dimension
  std::int64_t max_delay_ns = 0;  ///< the longest time that a request waits for others
};
/// Fails: kInvalid for options out of range.
Status check(const BatchOptions& options);

/// A function with this `keep_warm_ns` is unloaded only to make room for another.
inline constexpr std::int64_t kAlwaysWarm = std::numeric_limits<std::int64_t>::max();

/// A program that serves the requests of a function, in place of a package.
struct ProgramOptions {
  std::vector<std::string> arguments;  ///< behind the program's own name
  /// One process takes request after request; else each request has a process of its own.
  bool stays = false;
};
/// Fails: kInvalid for arguments that are too many or too long.
Status check(const ProgramOptions& options);

struct FunctionOptions {
  std::int32_t share = 1;         ///< of its lane's time, against functions of the same priority
  std::int32_t priority = 0;      ///< a function with a higher one runs first
  std::int64_t memory_bytes = 0;  ///< limit of constants and contexts together; 0: none
  std::int64_t keep_warm_ns = 60'000'000'000;  ///< time from the last request to the unload
  /// Maximum rows of waiting requests that are joined to one run; 0: each request runs alone.
  std::int32_t batch_rows = 0;
  std::optional<ProgramOptions> program = {};  ///< none: the function has a package

  /// Calls `visit` with each number (SLUICE_FIELD).
  template <typename Visit>
  static void visit_fields(Visit&& visit);
};
/// Fails: kInvalid, naming the option and its range.
Status check(const FunctionOptions& options);

template <typename Visit>
void FunctionOptions::visit_fields(Visit&& visit) {
  using Priority = std::numeric_limits<std::int32_t>;
  visit(SLUICE_FIELD(share, 1, kMaxWeight, "--share",
                     "Weight of the function's time on the cores, among functions of the same "
                     "priority"));
  visit(SLUICE_FIELD(priority, Priority::min(), Priority::max(), "--priority",
                     "Functions with a higher priority run first"));
  visit(SLUICE_FIELD(batch_rows, 0, kMaxBatchRows, "--batch-rows",
                     "Maximum number of rows of waiting requests that run as one, for a model with "
                     "a symbolic first dimension and independent rows; 0 runs each request alone"));
  visit(SLUICE_FIELD(memory_bytes, 0, kAnyNumber, "--memory",
                     "Quota for the function's constants and contexts, or for the device memory of "
                     "its program: 64m, 2GiB; 0 sets none"));
  visit(SLUICE_FIELD(keep_warm_ns, 0, kAnyNumber, "--keep-warm",
                     "Seconds after the last request until the function gives its memory back"));
}

///           first request, or a start             a request
///     cold -------------------------> warm <-----------------> running
///       ^                               |
///       +--keep-warm time over, stop, ---+
///          or room for another function
///
/// A cold function holds its mapped package, with the kernels and plans of its first start; no
/// context, arena or constant of its own.
enum class FunctionPhase : std::uint8_t { kCold, kWarm, kRunning };
std::string_view phase_name(FunctionPhase phase);  ///< "cold"
FunctionPhase parse_function_phase(std::string_view name);

/// A function as lists show it.
struct FunctionState {
  FunctionOptions options;
  FunctionPhase phase = FunctionPhase::kCold;
  std::int64_t held_bytes = 0;  ///< constants and contexts now; 0 while cold
  std::int64_t num_requests = 0;
  std::int64_t num_joined = 0;     ///< requests that ran together with others
  std::int64_t num_starts = 0;     ///< from cold
  std::int64_t last_start_ns = 0;  ///< duration of the last one
  std::int64_t busy_ns = 0;        ///< time of its lane

  SLUICE_FIELDS(held_bytes, num_requests, num_joined, num_starts, last_start_ns, busy_ns)
};

}  // namespace sluice::terms
