#pragma once

#include "conv/conv.h"
#include "conv/conv_strip.h"

namespace sluice::cpu {

/// Computes one band of output rows for the panels [panels.begin, panels.end). `input` is where tap
/// offset 0 of the band's first pixel lies: in the strip, or in the input tensor itself.
void run_band(const ConvPlan& plan, const ConvArgs& args, const Band& band, const Share& panels,
              const float* input);

}  // namespace sluice::cpu
