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

/// sqrt(mean + epsilon).
struct MeanRoot {
  const ir::Operation* mean;  ///< a ReduceMean
  double epsilon;
};

/// Reads the root that `id` is. A root without a sum has an epsilon of 0, as 1e-12 is in f16. Not
/// found: an epsilon below 0 or not normal in f32, which the attribute could not hold.
std::optional<MeanRoot> match_mean_root(const Matcher& matcher, ir::OperandId id);

/// Whether `id`, a scale or bias, has the shape of the axes of `x` from `axis` on.
bool is_shaped_as_rows(const ir::Subgraph& subgraph, ir::OperandId id, ir::OperandId x,
                       std::int64_t axis);

}  // namespace sluice::passes
