// The profiled scheduler: chooses backends by measured times.
#pragma once

#include <cstdint>
#include <vector>

#include "compile/placement.h"
#include "compile/profile/operator_profile.h"

namespace sluice::compile {

/// Replaces the backends of the main subgraph's operations in `assignment`, which assign_backends
/// made, by those with which a request takes the least time by `profile`: the measured times of
/// operations and of copies to and from devices without host memory, one after another, as the
/// linear executor runs them.
///
/// Only backends that `placement` allows for an operation and that support it are chosen.
/// Operations with strings, of unknown shapes, or that change the shape of results with their data
/// keep theirs. Deterministic. Fails: kFailedPrecondition  the profile has no times of a backend in
/// this version, or of an operation that it supports; says how to measure them
Status assign_by_profile(const ir::Graph& graph, const Placement& placement,
                         const OperatorProfile& profile,
                         std::vector<std::vector<std::int16_t>>& assignment);

}  // namespace sluice::compile
