// Compiles a graph and runs it, as a program does.
#pragma once

#include <string>

#include "backend/registry.h"
#include "fuzz/operators/guarded_memory.h"
#include "fuzz/operators/prepare.h"

namespace sluice::fuzz {

/// Inputs and results of known size lie between guard pages.
/// Fails: as compiling, loading and running do. An overrun ends the process.
Status run_model(const Prepared& prepared, const backend::BackendRegistry& backends,
                 const std::string& backend, GuardedMemory& memory);

}  // namespace sluice::fuzz
