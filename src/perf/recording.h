// Requests that a daemon recorded, as a load.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "perf/target.h"
#include "telemetry/traffic_file.h"

namespace sluice::perf {

/// The requests of the file to one model, in the order of their arrival; the first one comes at 0.
/// Fails: as reading and telemetry::parse_traffic; kNotFound, naming the file's models, for a model
/// without requests.
Result<std::vector<telemetry::RecordedRequest>> read_recording(const std::string& path,
                                                               const std::string& model);

/// Makes them the target's, which reads their memory, and returns when each is due.
/// Fails: kInvalidArgument for an input that is none; as Target::add_request.
Result<std::shared_ptr<const std::vector<std::int64_t>>> add_recorded(
    std::vector<telemetry::RecordedRequest>& requests, Target& target);

}  // namespace sluice::perf
