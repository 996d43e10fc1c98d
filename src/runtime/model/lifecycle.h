// The states of a loaded model and their transitions.
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
/// A load starts a model on an implicit group. A failed model refuses requests with kModelFailed.
enum class ModelPhase : std::uint8_t { kLoaded, kStarted, kStopped, kFailed, kUnloaded };
enum class ModelAction : std::uint8_t { kStart, kStop, kReset, kUnload, kFail };

std::string_view phase_name(ModelPhase phase);

/// Fails: kFailed, or kModelFailed for a failed model; the message has the remedy.
Result<ModelPhase> next_phase(ModelPhase phase, ModelAction action);

}  // namespace sluice::runtime
