#pragma once

#include <cstdint>

#include "conv/direct/conv_plan.h"

namespace sluice::cpu {

/// Some input blocks, [first, first + count).
struct BlockRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Output rows [first, first + count) of one image.
struct Band {
  std::int64_t image = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Copies the inputs that `band` reads of `blocks` to `strip`, with zeros for padding.
void fill_strip(const ConvPlan& plan, const float* input, const Band& band, BlockRange blocks,
                float* strip);

}  // namespace sluice::cpu
