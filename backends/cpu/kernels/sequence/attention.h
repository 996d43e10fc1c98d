#pragma once

#include <cstdint>

#include "core/isa.h"
#include "core/worker.h"

namespace sluice::cpu {

/// Distances in floats between batch items, heads and positions; `step` between the numbers of one
/// vector (1 but for keys that are stored transposed).
struct AttentionStrides {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
  std::int64_t step = 1;
};

inline constexpr std::int64_t kAttentionMostRows = 96;

/// Which queries get zeros, see sluice::Attention.
enum class ZeroRows : std::uint8_t { kNone = 0, kHidden = 1, kNan = 2 };

/// out = softmax(where(keep, scale * Q K^T, hidden) + mask) V for every batch item and head.
///
/// Scores live only in a tile of a few query rows. With kv_heads < heads, neighbouring heads share
/// keys and values.
struct AttentionPlan {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t head_size = 0;   ///< of queries and keys
  std::int64_t value_size = 0;  ///< of values and results
  AttentionStrides q;
  AttentionStrides k;
  AttentionStrides v;     ///< step 1
  AttentionStrides out;   ///< step 1
  AttentionStrides mask;  ///< row: per query, zero when all share one row; step 1 along keys
  AttentionStrides keep;  ///< as of the mask, in bools
  float scale = 1;
  float hidden = 0;
  ZeroRows zero_rows = ZeroRows::kHidden;
  bool causal = false;  ///< query i sees keys up to past + i
  std::int64_t past = 0;
  /// Queries whose scores are in a tile, at most kAttentionMostRows; 0: as many as fit near.
  std::int64_t block_rows = 0;
};

struct AttentionArgs {
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  const float* mask = nullptr;  ///< added to the scores; null for none
  float* out = nullptr;
  const std::uint8_t* keep = nullptr;  ///< 0: the score is `hidden`; null for none
};

/// Scratch that each worker needs.
SLUICE_CPU_EACH_ISA(std::int64_t attention_scratch_bytes(const AttentionPlan& plan);)

/// Workers divide batch items and heads, then blocks of queries.
SLUICE_CPU_EACH_ISA(void run_attention(const AttentionPlan& plan, const AttentionArgs& args,
                                       const Worker& worker);)

}  // namespace sluice::cpu
