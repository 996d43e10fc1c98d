// The tokens of a text, or of a pair of texts.
#pragma once

#include <cstdint>
#include <vector>

#include "text/vocabulary/token_id.h"

namespace sluice::text {

struct Encoding {
  std::vector<TokenId> ids;
  /// As many as ids: which of two texts a token belongs to, for models such as BERT.
  std::vector<std::int32_t> type_ids;
};

}  // namespace sluice::text
