#pragma once

#include <cstdint>

#include "core/isa.h"
#include "core/worker.h"
#include "kernels/convert/convert.h"

namespace sluice::cpu {

/// A plan of sluice::PagedAttention: rows of many sequences over keys and values in pages.
struct PagedPlan {
  std::int64_t rows = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;   ///< of queries and keys
  std::int64_t value_size = 0;  ///< of values and results
  std::int64_t pages = 0;
  std::int64_t places = 0;     ///< of a page
  std::int64_t sequences = 0;  ///< rows of the table
  std::int64_t blocks = 0;     ///< columns of the table
  std::int64_t window = 0;     ///< places that a row sees; 0 for all up to its own
  float scale = 1;
  float cap = 0;                    ///< above 0: scores s become cap * tanh(s / cap)
  Storage storage = Storage::kF32;  ///< of keys and values: kF32, kF16, or kI8 with scales behind
};

struct PagedArgs {
  const float* q = nullptr;      ///< [rows, heads, head_size]
  const void* keys = nullptr;    ///< [pages, kv_heads, places] rows of head_size
  const void* values = nullptr;  ///< [pages, kv_heads, places] rows of value_size
  const std::int64_t* positions = nullptr;
  const std::int64_t* sequences = nullptr;
  const std::int64_t* tables = nullptr;
  float* out = nullptr;  ///< [rows, heads, value_size]
};

/// Scratch that each worker needs.
SLUICE_CPU_EACH_ISA(std::int64_t paged_scratch_bytes(const PagedPlan& plan);)

/// Workers divide the places that all heads of all rows see.
/// Requires: positions, sequences and the entries of tables that they lead to are in range.
SLUICE_CPU_EACH_ISA(void run_paged(const PagedPlan& plan, const PagedArgs& args,
                                   const Worker& worker);)

}  // namespace sluice::cpu
