#pragma once

#include "conv/direct/conv.h"
#include "conv/direct/conv_strip.h"

namespace sluice::cpu {

/// Where a band finds its input and room for what it needs meanwhile.
struct BandPlace {
  const float* input = nullptr;  ///< tap offset 0 of the band's first pixel
  float* sums = nullptr;         ///< one panel of the band in c16, when the output is planes
  float* weights = nullptr;      ///< those of a pass, widened from 16 bits
  float* body_scratch = nullptr;
};

/// Computes one band of output rows for the panels [panels.begin, panels.end).
void run_band(const ConvPlan& plan, const ConvArgs& args, const Band& band, const Share& panels,
              const BandPlace& place);

}  // namespace sluice::cpu
