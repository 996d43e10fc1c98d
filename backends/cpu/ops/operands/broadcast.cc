#include "ops/operands/broadcast.h"

#include <cstddef>

namespace sluice::cpu {

Dims broadcast_strides(std::span<const std::int64_t> dims, std::span<const std::int64_t> out) {
  Dims strides(out.size(), 0);
  std::int64_t distance = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1) strides[out.size() - dims.size() + i] = distance;
    distance *= dims[i];
  }
  return strides;
}

bool broadcasts_to(std::span<const std::int64_t> dims, std::span<const std::int64_t> out) {
  if (dims.size() > out.size()) return false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t want = out[out.size() - dims.size() + i];
    if (dims[i] >= 0 && want >= 0 && dims[i] != 1 && dims[i] != want) return false;
  }
  return true;
}

Walk collapse(std::span<const std::int64_t> dims, std::vector<Dims> strides) {
  Walk walk;
  walk.strides.resize(strides.size());
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    // An axis joins the one before it if one stride walks both of them, in every operand.
    bool merges = !walk.dims.empty();
    for (std::size_t i = 0; merges && i < strides.size(); ++i) {
      merges = walk.strides[i].back() == strides[i][d] * dims[d];
    }
    if (!merges) walk.dims.push_back(1);
    walk.dims.back() *= dims[d];
    for (std::size_t i = 0; i < strides.size(); ++i) {
      if (!merges) walk.strides[i].push_back(0);
      walk.strides[i].back() = strides[i][d];
    }
  }
  if (walk.dims.empty()) {
    walk.dims.push_back(1);
    for (Dims& s : walk.strides) s.push_back(0);
  }
  return walk;
}

std::int64_t merged_stride(std::span<const std::int64_t> dims,
                           std::span<const std::int64_t> strides) {
  const Walk walk = collapse(dims, {Dims(strides.begin(), strides.end())});
  return walk.dims.size() == 1 ? walk.strides[0][0] : -1;
}

}  // namespace sluice::cpu
