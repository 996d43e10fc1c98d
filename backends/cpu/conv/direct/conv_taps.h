#pragma once

#include "conv/direct/conv_plan.h"

namespace sluice::cpu {

/// For blocks of 16 input channels and a horizontal stride of 1. Every output sees the image
/// through some tap, or skipping does not pay.
ConvTapSkips find_tap_skips(const ConvShape& shape);

}  // namespace sluice::cpu
