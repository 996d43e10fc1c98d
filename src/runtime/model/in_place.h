// Which inputs may be read where a client can change them meanwhile.
#pragma once

#include <vector>

#include "package/executable.h"

namespace sluice::runtime {

/// By input of the signature: whether every operation that reads it only computes with its numbers,
/// so that bytes which change under its hands give other numbers and no worse. True for floating
/// numbers that go into products, convolutions, poolings and element-wise arithmetic, through views
/// too. False for all that might be looked at twice and trusted the second time: indices, shapes,
/// texts, conditions, what is counted, sorted or handed on to a subgraph.
std::vector<bool> find_in_place_inputs(const ir::Graph& graph);

}  // namespace sluice::runtime
