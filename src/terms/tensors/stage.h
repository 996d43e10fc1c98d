// The stages of a request: copies and segments, each on a lane of its model's pipeline.
#pragma once

#include <cstdint>

namespace sluice::terms {

/// What a lane of a model's pipeline does.
enum class StageKind : std::uint8_t { kCopyIn, kCompute, kCopyOut };

/// A stage of a request that has ended.
struct StageTime {
  StageKind kind = StageKind::kCompute;
  std::uint32_t segment = 0;  ///< of kCompute; 0 for a model of dynamic shapes, which runs as one
  std::int64_t start_ns = 0;  ///< on the engine's clock
  std::int64_t duration_ns = 0;
};

}  // namespace sluice::terms
