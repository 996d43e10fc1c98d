// The daemon's load in the head of a reply.
#pragma once

#include <string>
#include <string_view>

#include "service/balance/load_meter.h"

namespace sluice::http {

/// "endpoint-load-metrics: TEXT application_utilization=0.5, ..." with its end of line, for the
/// format "text"; an object behind the word JSON for "json"; empty for anything else. The forms are
/// ORCA's: https://github.com/envoyproxy/envoy/issues/6614.
std::string load_field(std::string_view format, const service::LoadReport& report);

}  // namespace sluice::http
