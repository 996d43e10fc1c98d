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
/// Pad's value. If that type is unknown, the function inserts a CastLike.
void attribute_to_input_like_data(ir::Subgraph& subgraph, ir::Operation& operation,
                                  std::string_view name, std::size_t index);

/// Before opset 7 attributes requested the broadcast of a second operand, aligned at `axis` of the
/// first operand. Rewrites this form to today's alignment at the last dimension. Fails:
/// kUnimplemented if the required ranks are not declared.
Status upgrade_broadcast(ir::Subgraph& subgraph, ir::Operation& operation);

/// Puts an Unsqueeze before `operation` that gives input `index` so many last dimensions of 1.
void append_ones(ir::Subgraph& subgraph, ir::Operation& operation, std::size_t index,
                 std::size_t count);

/// For results whose shape nobody can bound before reading the data: adds operator `measure` of
/// domain "sluice" with the same inputs and attributes, and turns `operation` into operator `rest`
/// of that domain, which takes what `measure` found as its last input.
Status measure_first(ir::Subgraph& subgraph, ir::Operation& operation, std::string_view measure,
                     std::string_view rest);

/// nullopt if it is not declared.
std::optional<std::size_t> declared_rank(const ir::Subgraph& subgraph, ir::OperandId id);

}  // namespace sluice::ops
