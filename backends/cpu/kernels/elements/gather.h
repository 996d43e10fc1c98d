#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// A line of elements: out[i] = data[index(i) * stride + i * step], with indices into `length`
/// places, of which negative ones count from the end.
struct GatherLine {
  const void* data = nullptr;
  const void* indices = nullptr;
  void* out = nullptr;
  std::int64_t count = 0;
  std::int64_t length = 0;
  std::int64_t stride = 1;
  std::int64_t step = 0;
};

/// Returns the first i whose index is outside, or -1. Elements at such indices are left as they
/// are.
using GatherLoop = std::int64_t (*)(const GatherLine& line);

/// The loop for elements of 1, 2, 4 or 8 bytes and indices of 4 or 8; null for others.
SLUICE_CPU_EACH_ISA(GatherLoop gather_loop(std::int64_t element_bytes, std::int64_t index_bytes);)

}  // namespace sluice::cpu
