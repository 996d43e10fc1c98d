// Loaded models as lists show them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "terms/field.h"
#include "terms/group.h"

namespace sluice::terms {

/// Identifies a loaded model; stale after its unload.
enum class ModelHandle : std::uint64_t {};

/// runtime/model/lifecycle.h has the transitions.
enum class ModelPhase : std::uint8_t { kLoaded, kStarted, kStopped, kFailed, kUnloaded };
std::string_view phase_name(ModelPhase phase);

enum class LoadMode : std::uint8_t {
  kNormal,  ///< each segment has its own cores: requests run in different segments at once
  kShared,  ///< segments take turns on the same cores: one request runs at a time
};

/// The resources that a load needs, estimated before it.
struct Footprint {
  std::int64_t constants_bytes = 0;  ///< mapped from the package; shared by all loads of it
  std::int64_t packed_bytes = 0;     ///< repacked constants of backends; shared, too
  std::int64_t context_bytes = 0;    ///< of one slot: arena and outputs
  bool is_context_known = true;      ///< false: shapes are only known at run time
  std::int32_t depth = 1;

  /// With `depth` slots.
  std::int64_t total_bytes() const;
  std::string to_string() const;

  SLUICE_FIELDS(constants_bytes, packed_bytes, context_bytes, is_context_known, depth)
};

/// A description of a loaded model.
struct ModelInfo {
  std::uint64_t handle = 0;
  std::string name;
  ModelPhase phase = ModelPhase::kLoaded;
  CoreGroupId group = {};
  bool is_implicit = false;  ///< the group was created by the load and ends with the model
  LoadMode mode = LoadMode::kNormal;
  int depth = 1;
  int queue_limit = 0;  ///< requests that may wait beyond `depth`
  std::size_t num_slots = 1;
  bool shares_package = false;        ///< another model of the package was loaded before it
  Footprint footprint;                ///< as estimated
  std::int64_t slots_bytes = 0;       ///< as measured: contexts and device buffers
  std::vector<bool> in_place_inputs;  ///< runtime::find_in_place_inputs

  SLUICE_FIELDS(is_implicit, depth, queue_limit, slots_bytes)
};

}  // namespace sluice::terms
