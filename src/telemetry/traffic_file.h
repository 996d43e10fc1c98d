// Requests with their inputs and times of arrival in a file, to be sent again.
//
// Format, little-endian: the 8 bytes "SLCTRAF1", then requests one behind the other:
//
//     u32 bytes that follow | i64 nanoseconds since a start | i32 priority
//     text model | u32 inputs, each: text name | i32 ONNX's element type | u32 rank | i64
//     dimensions
//                                    u32 bytes, as a terms::TensorView has them
//
// The start is one for the file. A text is u32 bytes of UTF-8. A request that a crash has cut off
// ends the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_budget.h"
#include "base/result.h"
#include "telemetry/request_record.h"

namespace sluice::telemetry {

inline constexpr std::string_view kTrafficMagic = "SLCTRAF1";

struct RecordedRequest {
  std::int64_t arrival_ns = 0;
  std::int32_t priority = 0;
  std::string model;
  std::vector<RecordedInput> inputs;
  ByteCharge charge = {};  ///< of who records it, for the inputs
};

/// A reader takes a request with more for damaged.
inline constexpr std::size_t kMaxRecordedInputs = 1024;
inline constexpr std::size_t kMaxRecordedRank = 64;
/// Limit of the inputs together: with names and dimensions they stay below 4 GiB.
inline constexpr std::int64_t kMaxRecordedBytes = std::int64_t{2} << 30;

/// As it stands in a file. Requires: it has no more than these.
std::string to_bytes(const RecordedRequest& request);

/// Reads a whole file. Fails: kInvalidArgument for another file, and for a damaged request.
Result<std::vector<RecordedRequest>> parse_traffic(std::string_view file);

}  // namespace sluice::telemetry
