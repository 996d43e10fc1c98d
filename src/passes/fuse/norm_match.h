// What the elementary forms of normalizations over the last axes share.
#pragma once

#include <cstdint>
#include <optional>

#include "passes/match.h"

namespace sluice::passes {

/// The first of the axes that a ReduceMean with kept dimensions reduces, if they are the last.
std::optional<std::int64_t> last_axes(const ir::Subgraph& subgraph, const ir::Operation& mean);

/// d, if `squared` is d^2 or d * d; else invalid.
ir::OperandId squared_operand(const Matcher& matcher, ir::OperandId squared);

/// Whether `id`, a scale or bias, has the shape of the axes of `x` from `axis` on.
bool is_shaped_as_rows(const ir::Subgraph& subgraph, ir::OperandId id, ir::OperandId x,
                       std::int64_t axis);

}  // namespace sluice::passes
