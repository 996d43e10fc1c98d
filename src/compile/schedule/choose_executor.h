// Which executor runs a model fastest on this machine.
#pragma once

#include "backend/registry.h"
#include "base/result.h"
#include "exec/executors/executor_kind.h"
#include "package/executable.h"

namespace sluice::compile {

/// Runs the model with inputs of zeros by each executor in turn, on all cores of this process.
/// Linear unless dataflow takes at most 95 % of its time; parallel if it takes at most 95 % of the
/// better of both. Linear for a model of dynamic shapes. The time of simulated devices is that of
/// their clock.
/// Fails: what loading and running the model report.
Result<exec::ExecutorKind> choose_executor(const package::Executable& executable,
                                           const backend::BackendRegistry& backends);

}  // namespace sluice::compile
