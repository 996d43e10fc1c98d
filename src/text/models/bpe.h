// Byte-pair encoding (Sennrich et al., 2016), over characters or over bytes that look like
// characters.
#pragma once

#include <memory>

#include "text/models/model.h"

namespace sluice::text {

/// Fails: kUnimplemented for dropout, which makes results random; kInvalidArgument for merges of
///        pieces that the vocabulary does not have.
Result<std::unique_ptr<const Model>> read_bpe(const Field& field);

}  // namespace sluice::text
