// Iteration over tensors whose shapes are stretched to a common one, as ONNX's multidirectional
// broadcasting has it: aligned at the last dimension, 1 stretches to anything.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/backend.hpp"

namespace sluice::reference {

using Dims = std::span<const std::int64_t>;

/// Elements between neighbours along each dimension of a packed row-major tensor.
std::vector<std::int64_t> strides_of(Dims dims);

/// Strides with which a packed tensor of `dims` is read while walking `target`: 0 where it is
/// stretched. Requires: `dims` broadcasts to `target`.
std::vector<std::int64_t> broadcast_strides(Dims dims, Dims target);

/// The common shape. -1 (unknown) meets 1 or -1 as -1, and any other number as that number.
/// Fails: SLUICE_INVALID_ARGUMENT naming both shapes.
plugin::Status broadcast_dims(Dims a, Dims b, std::vector<std::int64_t>* result);

/// Calls `visit(i, offsets)` for element i = 0, 1, ... of `target` in order, where `offsets[k]` is
/// the element of the packed tensor of `sources[k]` that is stretched over it.
template <std::size_t N, typename Visit>
void for_each_broadcast(Dims target, const std::array<Dims, N>& sources, const Visit& visit) {
  std::array<std::vector<std::int64_t>, N> strides;
  for (std::size_t k = 0; k < N; ++k) strides[k] = broadcast_strides(sources[k], target);
  std::vector<std::int64_t> index(target.size(), 0);
  std::array<std::int64_t, N> offsets = {};
  const std::int64_t count = plugin::num_elements(target);
  for (std::int64_t i = 0; i < count; ++i) {
    visit(i, offsets);
    for (std::size_t d = target.size(); d-- > 0;) {
      for (std::size_t k = 0; k < N; ++k) offsets[k] += strides[k][d];
      if (++index[d] < target[d]) break;
      for (std::size_t k = 0; k < N; ++k) offsets[k] -= strides[k][d] * target[d];
      index[d] = 0;
    }
  }
}

}  // namespace sluice::reference
