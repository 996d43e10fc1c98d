// WordPiece, as BERT has it: the longest piece that a word begins with, again and again.
#pragma once

#include <memory>

#include "text/models/model.h"

namespace sluice::text {

/// Fails: kInvalidArgument.
Result<std::unique_ptr<const Model>> read_word_piece(const Field& field);

}  // namespace sluice::text
