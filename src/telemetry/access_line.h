// A request as a line of the access log.
#pragma once

#include <cstddef>
#include <string>

#include "telemetry/request_record.h"

namespace sluice::telemetry {

/// A pipe takes so many bytes at once or none (PIPE_BUF).
inline constexpr std::size_t kMaxLineBytes = 4096;

/// One JSON object with a newline: `time` (UTC, of the request's begin), `request_id`, `trace_id`,
/// `door`, `user`, `call`, `model`, `status` (gRPC's name), `http_status`, `error`, `bytes_in`,
/// `bytes_out`, `total_ns`, `read_ns` (until the model has the request), `queue_ns`, `copy_ns`,
/// `compute_ns`, `reply_ns` (from the model's answer on). A field that has no value is left out.
/// Has at most kMaxLineBytes: of a longer line each text keeps its start alone.
std::string access_line(const RequestRecord& record);

}  // namespace sluice::telemetry
