// The merge loop of byte-pair encoding.
#pragma once

#include <cstdint>
#include <vector>

#include "text/vocabulary/pair_map.h"
#include "text/vocabulary/token_id.h"

namespace sluice::text {

struct Merge {
  std::uint32_t rank = 0;
  TokenId result;
};

/// From the two tokens, by PairMap::key of their numbers.
using Merges = PairMap<Merge>;

/// Merges neighbours, always the pair of the least rank, of equals the leftmost, until none is in
/// `merges`. O(n log n) for n tokens, in 28 bytes for each.
void merge_word(const Merges& merges, std::vector<TokenId>& word);

}  // namespace sluice::text
