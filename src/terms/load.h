// Options of a load.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "terms/function.h"
#include "terms/group.h"

namespace sluice::terms {

inline constexpr int kMaxDepth = 1024;
/// A full default line takes 64 times as long as one request: few clients still want a reply then.
inline constexpr int kWaitingPerSlot = 64;
inline constexpr int kMaxWaiting = kWaitingPerSlot * kMaxDepth;

/// More than any machine has.
inline constexpr int kMaxCores = 1 << 20;

/// The handling of NaN in outputs.
enum class NanPolicy : std::uint8_t {
  kPass,  ///< outputs are not checked
  kFlag,  ///< kNumericError, with the outputs
  kFail,  ///< kNumericError, without outputs
};

/// Options of a load, but for the package, which each caller names in its own way. A new number is
/// a member, a line of `visit_fields`, and a field of the protocol, of C, of C++ and of Python.
struct LoadOptions {
  std::string name;  ///< empty: the name of the file
  /// Explicit group. None: the load creates an implicit group and starts the model.
  std::optional<CoreGroupId> group;
  /// Contexts. 0: cores + host segments + 1 in normal mode, 1 in shared mode. For a function: the
  /// runs at a time.
  int depth = 0;
  /// The cores of a model of one segment. 0: all that are free. None: as the package says.
  std::optional<int> cores;
  /// Requests that may wait beyond `depth`; 0 refuses them. None: kWaitingPerSlot x depth.
  std::optional<int> queue_limit;
  NanPolicy nan_policy = NanPolicy::kPass;
  /// Share of the cores among models that take turns: 1 to kMaxWeight.
  int weight = 1;
  /// As exec::LoadOptions; none: the default.
  std::optional<std::int64_t> max_recorded_bytes;
  /// Limit of one run, from the start of its first kernel: then it is stopped. None: the host's
  /// default; 0: no limit.
  std::optional<std::int64_t> max_run_ns;
  /// Time limit of requests that bring none of their own, from their arrival; 0: none.
  std::int64_t request_timeout_ns = 0;
  /// None: every request runs alone.
  std::optional<BatchOptions> batching;
  /// Isolation of the group that the load makes; none: the host's default. Not with `group`. For a
  /// function, "process" is a cell.
  std::optional<Isolation> isolation;
  /// Deploys a function. Not with a group.
  std::optional<FunctionOptions> function;
  std::optional<std::uint64_t> seed;  ///< of random operators
  bool is_on_demand = false;          ///< loaded at the first request, unloaded for others
  bool is_pinned = false;             ///< on demand, but not unloaded for others

  /// Calls `visit` with each number (SLUICE_FIELD).
  template <typename Visit>
  static void visit_fields(Visit&& visit);
};

/// Fails: kInvalid, naming a number out of its range. Says nothing of `batching` and `function`.
Status check(const LoadOptions& options);

template <typename Visit>
void LoadOptions::visit_fields(Visit&& visit) {
  visit(SLUICE_FIELD(depth, 0, kMaxDepth, "--depth",
                     "Requests that run at the same time, each in a context; 0 derives it from the "
                     "model's cores"));
  visit(SLUICE_FIELD(cores, 0, kMaxCores, "--cores",
                     "Cores of the model; 0 takes all that are free (default: those that it was "
                     "compiled for, and all of a model that writes texts)",
                     16));
  visit(SLUICE_FIELD(queue_limit, 0, kMaxWaiting, "--queue-limit",
                     "Requests that may wait beyond the depth; 0 refuses them (default: 64 x "
                     "depth)"));
  visit(SLUICE_FIELD(weight, 1, kMaxWeight, "--weight",
                     "Share of the cores among models that take turns"));
  visit(SLUICE_FIELD(max_recorded_bytes, 0, kAnyNumber, "--max-recorded-bytes",
                     "Bytes of command lists and plans that each slot keeps for shapes of earlier "
                     "runs (default: 64 MiB)"));
  visit(SLUICE_FIELD(max_run_ns, 0, kAnyNumber, "--max-run",
                     "Seconds after which a run is stopped; 0 sets no limit (default: the daemon's "
                     "max_run_seconds)",
                     11));
  visit(SLUICE_FIELD(request_timeout_ns, 0, kAnyNumber, "--request-timeout",
                     "Seconds after which a request without a time limit of its own ends; 0 sets "
                     "no limit",
                     13));
}

}  // namespace sluice::terms
