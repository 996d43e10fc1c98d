// Pieces of `UpgradeFn`s: what became of attributes when a newer schema version dropped them.
#pragma once

#include <cstddef>
#include <string_view>

#include "ir/graph.h"

namespace sluice::ops {

/// Turns attribute `name`, if given, into constant input `index`, and erases it: ints and floats
/// into a vector, a single float into a scalar, a single int into a vector of one (TopK's k).
void attribute_to_input(ir::Subgraph& subgraph, ir::Operation& operation, std::string_view name,
                        std::size_t index);

/// As above for a single float whose input must have the element type of input 0, where that is
/// known (f32 otherwise): Clip's bounds, Pad's value.
void attribute_to_input_like_data(ir::Subgraph& subgraph, ir::Operation& operation,
                                  std::string_view name, std::size_t index);

}  // namespace sluice::ops
