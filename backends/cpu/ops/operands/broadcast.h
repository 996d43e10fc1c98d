#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::cpu {

using Dims = std::vector<std::int64_t>;

/// Distances in elements between neighbours along each dimension of `out`, for a packed operand of
/// `dims` that broadcasts to it: zero where it is repeated.
/// Requires: `dims` broadcasts to `out`.
Dims broadcast_strides(std::span<const std::int64_t> dims, std::span<const std::int64_t> out);

/// Whether `dims` broadcasts to exactly `out`; unknown dimensions (-1) pass.
bool broadcasts_to(std::span<const std::int64_t> dims, std::span<const std::int64_t> out);

/// Dimensions that several operands walk together, as few as possible: ones dropped, neighbours
/// merged where every operand allows it.
struct Walk {
  Dims dims;                  ///< at least one
  std::vector<Dims> strides;  ///< [operand][dim]
};
Walk collapse(std::span<const std::int64_t> dims, std::vector<Dims> strides);

/// The stride of dimensions [0, count) as one dimension; -1 if one stride cannot describe them.
std::int64_t merged_stride(std::span<const std::int64_t> dims,
                           std::span<const std::int64_t> strides);

}  // namespace sluice::cpu
