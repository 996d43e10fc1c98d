#include "terms/model.h"

#include <fmt/format.h>

namespace sluice::terms {

std::string_view phase_name(ModelPhase phase) {
  switch (phase) {
    case ModelPhase::kLoaded: return "loaded";
    case ModelPhase::kStarted: return "started";
    case ModelPhase::kStopped: return "stopped";
    case ModelPhase::kFailed: return "failed";
    case ModelPhase::kUnloaded: break;
  }
  return "unloaded";
}

std::int64_t Footprint::total_bytes() const {
  return constants_bytes + packed_bytes + context_bytes * depth;
}

std::string Footprint::to_string() const {
  return fmt::format("{} bytes of constants, {} packed, {}{} for each of {} slots", constants_bytes,
                     packed_bytes, is_context_known ? "" : "at least ", context_bytes, depth);
}

}  // namespace sluice::terms
