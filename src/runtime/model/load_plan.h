// Assigns cores of a group to the segments of a model: the load modes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "terms/model.h"

namespace sluice::runtime {

/// The cores that a segment needs.
struct SegmentNeed {
  std::string name;
  std::int32_t cores = 1;  ///< 0: the longest run of the group's cores that lies on one device
  bool is_on_group = true;
};

struct LoadPlan {
  terms::LoadMode mode = terms::LoadMode::kNormal;
  std::vector<std::vector<terms::CoreRef>>
      cores;  ///< by segment; empty for a segment without cores of the group
};

/// Cores of the normal mode: the sum. At least 1.
std::int32_t cores_for_normal(std::span<const SegmentNeed> needs);
/// Cores of the shared mode: those of the largest segment. At least 1.
std::int32_t cores_for_shared(std::span<const SegmentNeed> needs);

/// Whether a segment takes all cores that it finds.
bool takes_all_cores(std::span<const SegmentNeed> needs);

/// Cores of each segment that needs cores of the group, in order: the parts of a core range.
std::vector<std::int32_t> parts_of_range(std::span<const SegmentNeed> needs);

/// Normal mode if the group has cores for all segments, else shared mode if `may_share` and the
/// group has cores for the largest segment. The cores of a segment lie on one device. `cores` has
/// the order of the group's core range. A model of one segment is always in normal mode. Fails:
/// kNotEnoughCores; the message has both numbers.
Result<LoadPlan> plan_load(std::span<const SegmentNeed> needs,
                           std::span<const terms::CoreRef> cores, bool may_share);

}  // namespace sluice::runtime
