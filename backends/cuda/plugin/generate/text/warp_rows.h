// Kernels in which a warp works on one row of numbers.
#pragma once

#include "plugin/generate/text/text.h"

namespace sluice::cuda {

inline constexpr unsigned kRowsPerBlock = 4;

/// A function of device code, `name(value)`, that combines the values of a warp's 32 lanes by
/// `combine`, an expression of `a` and `b`. Every lane gets the result.
std::string warp_function(const std::string& name, const std::string& combine);

/// Finds `row` and returns if there is none. Whole warps return, so the others can combine.
std::string find_row(std::int64_t num_rows);

/// Block and grid of a kernel with `num_rows` rows. False if a grid has no room.
bool set_row_grid(std::int64_t num_rows, Source* source);

}  // namespace sluice::cuda
