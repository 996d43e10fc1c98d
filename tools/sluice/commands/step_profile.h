// What each step of a run takes.
#pragma once

#include <string>

#include "exec/loaded_model.h"

namespace sluice::tool {

/// Runs the context twice, and measures the steps of the second run: a table, the longest first,
/// with the lines of the source that the steps come from. Fails: what the runs report;
/// kUnimplemented if no backend of the model tells its steps.
Result<std::string> profile_run(const exec::LoadedModel& model, exec::Context& context);

}  // namespace sluice::tool
