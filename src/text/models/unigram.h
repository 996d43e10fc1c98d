// The unigram language model (Kudo, 2018): the pieces whose scores add up to most.
#pragma once

#include <memory>

#include "text/models/model.h"

namespace sluice::text {

/// Fails: kInvalidArgument.
Result<std::unique_ptr<const Model>> read_unigram(const Field& field);

}  // namespace sluice::text
