// Inputs that kernels may read from memory that a client can change meanwhile.
#pragma once

#include <vector>

#include "package/executable.h"

namespace sluice::runtime {

/// By input of the signature: whether a concurrent change of its bytes can change only the values
/// of outputs, never memory safety. True for floating-point inputs of products, convolutions,
/// poolings and element-wise arithmetic, views included. False for inputs that a kernel may
/// validate and read again: indices, shapes, strings, conditions, inputs of sorts, counts and
/// subgraphs.
std::vector<bool> find_in_place_inputs(const ir::Graph& graph);

}  // namespace sluice::runtime
