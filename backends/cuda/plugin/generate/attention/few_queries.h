// Attention of few queries to many keys, as when a model writes one token after the other: the time
// is that of the keys' and values' way through memory, so they are read once, 16 bytes at a time,
// for all query heads that share them.
//
// A block has one head of the keys, and at most 8 of the queries that read it. Some lanes side by
// side have a key and its value, and keep the largest score and the sum of their weights for each
// query; in the end all add up what they have.
#pragma once

#include "plugin/generate/attention/problem.h"

namespace sluice::cuda {

/// Whether a head of keys has queries for one block alone. Requires: every dimension is known.
bool is_few_queries(const Problem& problem);

/// Whether the kernel takes it, with a block for every 8 queries of a head of keys: lines of whole
/// 16 bytes up to 512, no scores asked for. Requires: every dimension is known.
bool fits_few_queries(const sluice_op& op, const Problem& problem);

/// Requires: fits_few_queries.
/// Fails: UNIMPLEMENTED  a launch has too few blocks
Status write_few_queries(const sluice_op& op, const Problem& problem, Source* source);

}  // namespace sluice::cuda
