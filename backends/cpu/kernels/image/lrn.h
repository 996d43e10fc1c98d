#pragma once

#include <cstdint>

#include "core/isa.h"

namespace sluice::cpu {

/// Local response normalisation across channels, as ONNX means it:
///     y[c] = x[c] / (bias + alpha / size * sum of x[j]^2)^beta
/// over the `size` channels j from c - (size - 1) / 2 on. Distances in floats.
struct LrnPlan {
  std::int64_t channels = 0;
  std::int64_t block = 0;  ///< from one block of 16 channels, or one plane, to the next
  std::int64_t size = 0;
  float alpha = 0;
  float beta = 0;
  float bias = 0;

  /// Floats that lrn_pixels needs: the squares of a pixel's channels between two runs of zeros.
  std::int64_t pixel_scratch() const { return (channels + 15) / 16 * 16 + 2 * size + 16; }
  /// Those that lrn_planes needs: the same of as many pixels as a vector has lanes.
  std::int64_t plane_scratch() const { return (channels + size) * 16; }
};

/// Neighbouring pixels of one image in c16 (lrn_pixels) or in planes; `input` and `output`, which
/// may be one, are those of the first block or plane.
SLUICE_CPU_EACH_ISA(void lrn_pixels(const LrnPlan& plan, const float* input, std::int64_t pixels,
                                    float* output, float* scratch);
                    void lrn_planes(const LrnPlan& plan, const float* input, std::int64_t pixels,
                                    float* output, float* scratch);)

}  // namespace sluice::cpu
