// Recognizes attention over heads in its elementary operators.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "passes/match.h"

namespace sluice::passes {

/// softmax(scale * q * k^T, masked) * v, all of rank 4. Either `mask` is added to the scores, or
/// `hidden` replaces them where `condition` is false, or neither.
struct AttentionParts {
  ir::OperandId q, v;
  ir::OperandId key_source;            ///< k is this, its axes permuted by `key_perm`
  std::vector<std::int64_t> key_perm;  ///< [4]
  ir::OperandId mask;
  ir::OperandId condition, hidden;
  double scale = 1;
};

/// `root`: the product with v.
std::optional<AttentionParts> match_attention(const Matcher& matcher, const ir::Operation& root);

/// Whether a permutation moves nothing.
bool is_ascending(const std::vector<std::int64_t>& perm);

}  // namespace sluice::passes
