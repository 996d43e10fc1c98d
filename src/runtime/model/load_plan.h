// Which cores of a group each segment of a model gets: the load modes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/topology/device_map.h"

namespace sluice::runtime {

enum class LoadMode : std::uint8_t {
  kNormal,  ///< own cores for each segment: several requests run in different segments at once
  kShared,  ///< all segments on the same cores, one after the other, one request at a time
};

/// What a segment wants. Those on the host's processors beside a group of another kind want none.
struct SegmentNeed {
  std::string name;
  std::int32_t cores = 1;
  bool is_on_group = true;
};

struct LoadPlan {
  LoadMode mode = LoadMode::kNormal;
  std::vector<std::vector<CoreRef>> cores;  ///< by segment; empty off the group
};

/// Cores of the normal mode: the sum. At least 1.
std::int32_t cores_for_normal(std::span<const SegmentNeed> needs);
/// Cores of the shared mode: those of the largest segment. At least 1.
std::int32_t cores_for_shared(std::span<const SegmentNeed> needs);

/// Cores of each segment that has some on the group, in order: the parts of a run for all.
std::vector<std::int32_t> parts_of_run(std::span<const SegmentNeed> needs);

/// Normal if the group has cores for all segments, else shared if it has enough for the largest and
/// `may_share`. A segment's cores lie on one device; `cores` are given in the order of the group's
/// run. A model of a single segment is always normal.
/// Fails: kNotEnoughCores with how many are needed and how many there are.
Result<LoadPlan> plan_load(std::span<const SegmentNeed> needs, std::span<const CoreRef> cores,
                           bool may_share);

}  // namespace sluice::runtime
