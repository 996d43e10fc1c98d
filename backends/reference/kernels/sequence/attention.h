// Attention over heads, which ONNX's operator and Sluice's own share.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace sluice::reference {

/// The bias of a key that a query must not look at.
inline constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Which queries get zeros, see sluice::Attention.
enum class ZeroRows { kNone = 0, kHidden = 1, kNan = 2 };

/// q [batch, q_heads, queries, size], k [batch, kv_heads, keys, size] and v [batch, kv_heads, keys,
/// v_size], as doubles. q_heads is a multiple of kv_heads; query heads share key heads in runs.
struct AttentionProblem {
  std::int64_t batch = 0, q_heads = 0, kv_heads = 0;
  std::int64_t queries = 0, keys = 0, size = 0, v_size = 0;
  double scale = 1;
  double softcap = 0;  ///< 0 for none
  std::vector<double> q = {}, k = {}, v = {};
  /// What is added to the product of a query and a key; -infinity where it must not look.
  std::function<double(std::int64_t b, std::int64_t head, std::int64_t query, std::int64_t key)>
      bias = nullptr;
  /// Whether the score is a product; else it is `hidden`. Null: all are.
  std::function<bool(std::int64_t b, std::int64_t head, std::int64_t query, std::int64_t key)>
      keep = nullptr;
  double hidden = 0;
  ZeroRows zero_rows = ZeroRows::kHidden;
};

/// Stages of the product that ONNX's fourth output may ask for.
enum class ScoreStage { kRaw = 0, kCapped = 1, kBiased = 2, kSoftmax = 3 };

/// Gives [batch, q_heads, queries, v_size]. `scores` may be null; it receives [batch, q_heads,
/// queries, keys].
std::vector<double> attend(const AttentionProblem& problem, ScoreStage stage,
                           std::vector<double>* scores);

/// Both [outer, a or b, inner] and [outer, b, inner] joined along the middle axis.
std::vector<double> concat_middle(const std::vector<double>& a, const std::vector<double>& b,
                                  std::int64_t outer, std::int64_t a_size, std::int64_t b_size);

}  // namespace sluice::reference
