// A deployed function: a package, and what it may use.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/engine.h"
#include "runtime/inference/waiting_line.h"
#include "runtime/packages/package_cache.h"
#include "runtime/request/joined_rows.h"
#include "runtime/sharing/turns.h"

namespace sluice::sandbox {

/// A function with this `keep_warm_ns` is unloaded only to make room for another.
inline constexpr std::int64_t kAlwaysWarm = std::numeric_limits<std::int64_t>::max();

struct FunctionOptions {
  std::int32_t share = 1;         ///< of its lane's time, against functions of the same priority
  std::int32_t priority = 0;      ///< a function with a higher one runs first
  std::int64_t memory_bytes = 0;  ///< limit of constants and contexts together; 0: none
  std::int64_t keep_warm_ns = 60'000'000'000;  ///< time from the last request to the unload
  /// Most rows of waiting requests that are joined to one run; 0: each request runs alone.
  std::int32_t batch_rows = 0;
};

/// Fails: kInvalid, naming the option and its range.
Status check(const FunctionOptions& options);

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
};

/// Constant, except for the members that a Lane guards.
struct Function {
  std::string name;
  FunctionOptions options;
  /// With the package, the lane's group and the name. Functions of one version of a file share its
  /// package.
  runtime::LoadRequest load;
  package::Signature signature;
  std::optional<runtime::JoinRule> joining;  ///< with `batch_rows`
  runtime::Footprint footprint;
  int max_waiting = 0;                       ///< requests beyond `load.depth`
  std::shared_ptr<const void> package_file;  ///< owns `load.package_fd`, of a function in a cell

  // The lane's mutex guards these.
  runtime::Turns::Id id = {};  ///< given by the lane
  enum class Order : std::uint8_t { kNone, kWarm, kCool, kRemove };
  Order order = Order::kNone;  ///< for the lane's next step, which resets it
  Status order_status;
  bool is_removed = false;
  bool is_running = false;
  runtime::WaitingLine<std::uint64_t> line;    ///< ids of the requests that wait for a turn
  std::optional<runtime::ModelHandle> model;   ///< while warm
  std::shared_ptr<runtime::RequestSink> sink;  ///< of `model`
  runtime::ModelInfo info;                     ///< of `model`; of the last one while cold
  bool is_suspect = false;                     ///< its last turn met a device error
  std::int64_t last_used_ns = 0;
  FunctionState state;
  runtime::ModelStatisticsSnapshot retired;  ///< of earlier models
};

/// When a warm function is to be unloaded if no request comes; kNoDeadline while requests wait.
/// Requires: its lane's mutex is held.
std::int64_t cools_at_ns(const Function& function);

}  // namespace sluice::sandbox
