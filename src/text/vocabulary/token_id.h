// The number of a token in its vocabulary.
#pragma once

#include "base/id.h"

namespace sluice::text {

struct TokenTag;
using TokenId = Id<TokenTag>;

/// Ids of a file lie below this, so that a table by id is never larger than a vocabulary explains.
inline constexpr std::int32_t kMaxTokenId = 1 << 22;

}  // namespace sluice::text
