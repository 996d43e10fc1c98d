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

/// out = softmax(scale * Q K^T + mask) V for every batch item and head.
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
  float scale = 1;
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
};

/// Scratch that each worker needs.
SLUICE_CPU_EACH_ISA(std::int64_t attention_scratch_bytes(const AttentionPlan& plan);)

/// Workers divide batch items and heads, then blocks of queries.
SLUICE_CPU_EACH_ISA(void run_attention(const AttentionPlan& plan, const AttentionArgs& args,
                                       const Worker& worker);)

}  // namespace sluice::cpu
