// A deployed function: a package, and what it may use.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/line/forecast.h"
#include "runtime/model_host.h"
#include "runtime/request/joined_rows.h"
#include "runtime/sharing/shares.h"

namespace sluice::sandbox {

/// Constant, except for the members that a Lane guards.
struct Function {
  std::string name;
  terms::FunctionOptions options;
  /// With the package, the lane's group and the name. Functions of one version of a file share its
  /// package.
  runtime::LoadRequest load;
  terms::Signature signature;
  std::optional<runtime::JoinRule> joining;  ///< with `batch_rows`
  terms::Footprint footprint;
  int queue_limit = 0;                       ///< requests beyond `load.depth`
  std::shared_ptr<const void> package_file;  ///< owns `load.package_fd`, of a function in a cell

  // The lane's mutex guards these.
  runtime::Shares::Id id = {};  ///< given by the lane
  enum class Order : std::uint8_t { kNone, kWarm, kCool, kRemove };
  Order order = Order::kNone;  ///< for the lane's next step, which resets it
  Status order_status;
  bool is_removed = false;
  /// What a step does with it. One step at a time has a function.
  enum class Work : std::uint8_t { kNone, kTurn, kChange };
  Work work = Work::kNone;
  runtime::WaitingLine<std::uint64_t> line;    ///< ids of the requests that wait for a turn
  runtime::Forecast forecast;                  ///< of warm turns
  std::optional<terms::ModelHandle> model;     ///< while warm
  std::shared_ptr<runtime::RequestSink> sink;  ///< of `model`
  terms::ModelInfo info;                       ///< of `model`; of the last one while cold
  bool is_suspect = false;                     ///< its last turn met a device error
  std::int64_t last_used_ns = 0;
  terms::FunctionState state;
  runtime::ModelStatisticsSnapshot retired;  ///< of earlier models
};

/// When a warm function is to be unloaded if no request comes; kNoDeadline while requests wait or a
/// step has it.
/// Requires: its lane's mutex is held.
std::int64_t cools_at_ns(const Function& function);

}  // namespace sluice::sandbox
