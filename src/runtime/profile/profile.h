// What a profile holds: spans of time of requests, of what they passed through, and of operations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/inference/pipeline.h"
#include "runtime/runtime_code.h"
#include "runtime/topology/device_map.h"

namespace sluice::runtime {

enum class SpanKind : std::uint8_t {
  kRequest,    ///< from submission to answer
  kQueue,      ///< from submission to the first stage
  kCopyIn,     ///< to the device's memory
  kCompute,    ///< of one segment, or of all where shapes are dynamic
  kCopyOut,    ///< back
  kOperation,  ///< within a kCompute of the same request and lane
};

/// A model as a profile tells of it. Immutable.
struct ProfiledModel {
  /// What a lane of the model's pipeline is for.
  struct Lane {
    StageKind kind = StageKind::kCompute;
    std::vector<CoreRef> cores;  ///< empty for copies, and for segments on the host's processors
  };

  std::string name;
  std::uint64_t group = 0;  ///< handle of the core group
  std::vector<Lane> lanes;
};

struct ProfileSpan {
  SpanKind kind = SpanKind::kRequest;
  std::uint32_t model = 0;    ///< index in Profile::models
  std::uint32_t lane = 0;     ///< of the model; 0 for requests and queues
  std::uint32_t name = 0;     ///< of an operation: index in Profile::names
  std::uint64_t request = 0;  ///< number of the request within the model
  std::int64_t start_ns = 0;  ///< on the engine's clock
  std::int64_t duration_ns = 0;
  RuntimeCode code = RuntimeCode::kOk;  ///< of a request: how it ended
};

struct Profile {
  std::vector<ProfiledModel> models;
  std::vector<std::string> names;
  std::vector<ProfileSpan> spans;  ///< in the order in which they ended
  std::int64_t num_dropped = 0;    ///< older spans that made room for these
  std::int64_t start_ns = 0;       ///< on the engine's clock
  std::int64_t duration_ns = 0;    ///< in which spans were recorded
};

}  // namespace sluice::runtime
