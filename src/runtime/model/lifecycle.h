// The states of a loaded model and their transitions.
#pragma once

#include "terms/model.h"

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
enum class ModelAction : std::uint8_t { kStart, kStop, kReset, kUnload, kFail };

/// Fails: kFailed, or kModelFailed for a failed model; the message has the remedy.
Result<terms::ModelPhase> next_phase(terms::ModelPhase phase, ModelAction action);

}  // namespace sluice::runtime
