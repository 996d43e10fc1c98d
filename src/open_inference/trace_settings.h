// The trace settings of the Open Inference Protocol's trace extension, of a daemon that sends spans
// to a collector.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "service/service.h"

namespace sluice::open_inference {

/// By name; a setting has one value or several, as texts.
using TraceSettings = std::map<std::string, std::vector<std::string>>;

/// As Triton names them: `trace_level` is "TIMESTAMPS" while requests become spans, else "OFF"; one
/// request of `trace_rate` does, 0 for none but those whose callers decide. The others are fixed:
/// `trace_mode` "opentelemetry", `trace_count` "-1", `log_frequency` "0", `trace_file` "".
TraceSettings trace_settings(const service::Service& service);

/// Whether JSON has the setting as an array.
bool is_list(const std::string& name);

/// Changes all that are given, or none. None given: nothing happens. The change lasts until the
/// daemon reads its settings again. `model`: whose settings to change; empty: the daemon's.
/// Fails: kPermissionDenied    the caller may not control the daemon
///        kInvalidArgument     no such setting, or no value of it
///        kUnimplemented       a level, mode, file or count that the daemon does not have; a
///                             setting of one model
///        kFailedPrecondition  the daemon has no collector
Status change_trace_settings(service::Service& service, const service::Caller& caller,
                             const TraceSettings& wanted, const std::string& model);

}  // namespace sluice::open_inference
