// Shape functions of control flow, one file each.
#pragma once

#include "ops/inference.h"

namespace sluice::ops {

/// Types that cover the results of both branches.
Status infer_if(InferenceContext& context);

/// Types of carried values cover their initial and later values; scan outputs get a new leading
/// dimension.
Status infer_loop(InferenceContext& context);
Status infer_scan(InferenceContext& context);

}  // namespace sluice::ops
