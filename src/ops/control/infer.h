// Shape functions of control flow, one file each.
#pragma once

#include "ops/inference.h"

namespace sluice::ops {

/// What both branches give.
Status infer_if(InferenceContext& context);

/// What a carried value is at first, joined with what iterations make of it; scan outputs with a
/// new leading dimension.
Status infer_loop(InferenceContext& context);
Status infer_scan(InferenceContext& context);

}  // namespace sluice::ops
