// {"piece": id, ...}, as all models but one have it.
#pragma once

#include <vector>

#include "base/result.h"
#include "text/json/field.h"
#include "text/vocabulary/vocabulary.h"

namespace sluice::text {

Result<Vocabulary> read_vocabulary(const Field& field);

/// The tokens <0x00> to <0xFF>, in order; those that the vocabulary lacks are not valid.
std::vector<TokenId> find_byte_tokens(const Vocabulary& vocabulary);

}  // namespace sluice::text
