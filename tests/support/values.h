// Tensor bytes to and from doubles, whatever the element type.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ir/element_type.h"

namespace sluice::testing {

/// Packed little-endian elements, each rounded to nearest even. Bools: anything but 0 is 1.
/// Requires: a float, integer or bool type of 8 bits or more; integers in range.
std::vector<std::byte> encode(ir::ElementType type, std::span<const double> values);

/// What `encode` made. Requires: as above.
std::vector<double> decode(ir::ElementType type, std::span<const std::byte> bytes);

}  // namespace sluice::testing
