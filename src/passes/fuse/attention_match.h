// Recognizes attention over heads in its elementary operators.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "passes/match.h"

namespace sluice::passes {

/// What hides scores: `operand` is added to them; or, if it `replaces`, they become
/// AttentionParts::hidden where the bools of `operand` are `is_hidden_if`.
struct AttentionMask {
  ir::OperandId operand;
  bool replaces = false;
  bool is_hidden_if = false;
  bool drops_first_axis = false;  ///< of `operand`, whose length is 1
};

/// softmax(scale * q * k^T, masked) * v. All are of rank 4, or all of rank 3: then there is one
/// head. Neighbouring heads of q share those of k and v if there are fewer of these.
///
/// Algebra: (a q)(b k) c = (a b c) q k and (s + m) + n = s + (m + n), but for rounding; which the
/// numbers a, b, c and constant masks must not turn into an overflow or a cancellation.
struct AttentionParts {
  ir::OperandId q, v;
  ir::OperandId key_source;            ///< k is this, its axes permuted by `key_perm`
  std::vector<std::int64_t> key_perm;  ///< [rank]
  std::vector<AttentionMask> masks;    ///< the last one applied first
  std::optional<float> hidden;         ///< one number for all masks that replace
  double scale = 1;
  bool zeroes_nan = false;  ///< torch's guard: a softmax of NaN counts as zeros
};

/// `root`: the product with v.
std::optional<AttentionParts> match_attention(const Matcher& matcher, const ir::Operation& root);

/// Whether a permutation moves nothing.
bool is_ascending(const std::vector<std::int64_t>& perm);

}  // namespace sluice::passes
