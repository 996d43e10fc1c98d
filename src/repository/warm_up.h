// The first request of a model.
#pragma once

#include "dispatch/model_ref.h"

namespace sluice::repository {

/// Computes one request of zeros, with 1 for every open dimension, so that plans and recordings are
/// there when clients come. A model with strings, or inputs of unknown rank, is left as it is; so
/// is one for which such a request is an error, which its clients may never send. Blocks, up to a
/// minute.
void warm_up(const dispatch::ModelRef& model);

}  // namespace sluice::repository
