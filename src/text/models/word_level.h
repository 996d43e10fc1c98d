// A token for each whole word.
#pragma once

#include <memory>

#include "text/models/model.h"

namespace sluice::text {

/// Fails: kInvalidArgument.
Result<std::unique_ptr<const Model>> read_word_level(const Field& field);

}  // namespace sluice::text
