// The time of each command of a list, by events of the driver, for a thread that asks.
#pragma once

#include <span>

#include "sluice/backend.hpp"
#include "sluice/extensions/step_times.h"

namespace sluice::cuda {

class Backend;
struct CommandList;
struct Stream;

/// The extension "sluice.step_times/1".
extern const sluice_step_times kStepTimes;

/// Whether the calling thread has set an observer.
bool are_steps_observed();

/// Runs the commands of a finished list one by one, without graphs, waits for them, and tells the
/// thread's observer. Behind a failure it tells nothing.
/// Requires: are_steps_observed(); the stream is the caller's, and its device's context current.
/// Fails: as the driver, and as the commands
plugin::Status run_observed(Backend& backend, Stream& stream, const CommandList& list,
                            std::span<void* const> bindings);

}  // namespace sluice::cuda
