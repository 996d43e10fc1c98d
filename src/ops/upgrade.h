// Pieces of `UpgradeFn`s: what became of attributes when a newer schema version dropped them.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "ir/graph.h"

namespace sluice::ops {

/// Turns attribute `name`, if given, into constant input `index`, and erases it: ints and floats
/// into a vector, a single float into a scalar, a single int into a vector of one (TopK's k).
void attribute_to_input(ir::Subgraph& subgraph, ir::Operation& operation, std::string_view name,
                        std::size_t index);

/// As above for a single float whose input must have the element type of input 0: Clip's bounds,
/// Pad's value. Where that type is not known yet, a CastLike will see to it.
void attribute_to_input_like_data(ir::Subgraph& subgraph, ir::Operation& operation,
                                  std::string_view name, std::size_t index);

/// Before opset 7 a second operand was stretched only where attributes said so, aligned at `axis`
/// of the first operand: rewrites that to today's alignment at the last dimension. Fails:
/// kUnimplemented if the ranks that this takes are not declared.
Status upgrade_broadcast(ir::Subgraph& subgraph, ir::Operation& operation);

/// Puts an Unsqueeze before `operation` that gives input `index` so many last dimensions of 1.
void append_ones(ir::Subgraph& subgraph, ir::Operation& operation, std::size_t index,
                 std::size_t count);

/// nullopt if it is not declared.
std::optional<std::size_t> declared_rank(const ir::Subgraph& subgraph, ir::OperandId id);

}  // namespace sluice::ops
