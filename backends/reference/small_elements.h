// Tensors whose elements have at most 8 bits and no C++ type: small floats, and integers that share
// bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/small_floats.h"

namespace sluice::reference {

/// A float of at most 8 bits, or an integer of 4 or 2.
bool is_small(sluice_element_type type);

/// All elements; every value of these types is a double. Requires: `is_small(tensor.element_type)`.
std::vector<double> read_small(const sluice_tensor& tensor);

/// Stores the low bits of each element of `bits`, packed. Bits that pad the last byte become 0.
/// Requires: as many as the tensor has elements.
void write_small(const sluice_tensor& tensor, std::span<const std::uint8_t> bits);

/// Lowest and largest value of an integer type of 4 or 2 bits.
struct SmallRange {
  double lowest, largest;
};
SmallRange small_range(sluice_element_type type);

}  // namespace sluice::reference
