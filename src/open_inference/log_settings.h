// The log settings of the Open Inference Protocol's logging extension, of a daemon whose log has
// levels.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "base/status.h"
#include "service/service.h"

namespace sluice::open_inference {

using LogSetting = std::variant<bool, std::uint32_t, std::string>;
using LogSettings = std::map<std::string, LogSetting>;

/// As Triton names them: `log_error`, `log_warning`, `log_info` say whether such events are
/// written, `log_verbose_level` is 1 for those of debugging and 2 for all. `log_file` is empty, and
/// `log_format` is "ISO8601".
LogSettings log_settings(const service::Log& log);

/// Changes those that are given, or none, and writes the change to the log. None given: nothing
/// happens.
/// Fails: kPermissionDenied  the caller may not control the daemon
///        kInvalidArgument   no such setting, or a value of another type
///        kUnimplemented     levels that this log does not have, another file or format
Status change_log_settings(service::Service& service, const service::Caller& caller,
                           const LogSettings& wanted);

}  // namespace sluice::open_inference
