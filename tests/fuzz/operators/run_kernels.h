// Runs the operations of a graph one by one, each between guard pages.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "backend/group.h"
#include "fuzz/operators/guarded_memory.h"
#include "fuzz/operators/prepare.h"

namespace sluice::fuzz {

/// A backend, and groups of its cores.
struct Target {
  std::shared_ptr<const backend::Backend> backend;
  std::shared_ptr<const backend::Group> one_core;
  std::shared_ptr<const backend::Group> two_cores;
};

/// Infers the types of each operation from what came before, makes its kernel as the executor does,
/// and runs it. A result whose type the graph declares has that type, right or wrong: a kernel must
/// refuse it or stay inside.
/// Fails: as shape functions and kernels do. An overrun ends the process.
Status run_kernels(const Prepared& prepared, const Target& target, GuardedMemory& memory);

}  // namespace sluice::fuzz
