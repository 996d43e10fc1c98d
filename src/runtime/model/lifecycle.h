// The states of a loaded model, and what leads from one to another.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace sluice::runtime {

///                    start                       a device is lost
///      loaded ------------------> started -----------------------> failed
///        |                        |    ^                             |
///        |                   stop |    | start                       | reset
///        |                        v    |                             |
///        |                        stopped <--------------------------+
///        |                           |
///        +----------+----------------+          unload leads from every state,
///                   | unload                    through stop from started,
///                   v                           to unloaded, which is the end
///               unloaded
///
/// A model on an implicit group is started by its load. In `failed` requests are refused with
/// kModelFailed.
enum class ModelPhase : std::uint8_t { kLoaded, kStarted, kStopped, kFailed, kUnloaded };
enum class ModelAction : std::uint8_t { kStart, kStop, kReset, kUnload, kFail };

std::string_view phase_name(ModelPhase phase);

/// Fails: kFailed (kModelFailed in `failed`), with what to do instead.
Result<ModelPhase> next_phase(ModelPhase phase, ModelAction action);

}  // namespace sluice::runtime
