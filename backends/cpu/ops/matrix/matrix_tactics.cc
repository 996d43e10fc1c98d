#include "ops/matrix/matrix_tactics.h"

#include <algorithm>

#include "core/divide.h"
#include "core/units.h"
#include "plugin/tactic.h"

namespace sluice::cpu {
namespace {

struct GemmTactic {
  std::string_view name;
  GemmBlocks blocks;
};

constexpr GemmTactic kAll[] = {
    {"", {}},
    {"columns", {.division = GemmDivision::kColumns}},
    {"rows", {.division = GemmDivision::kRows}},
    {"low", {.rows = 96, .byte_block = 128 * kKiB}},
    {"shallow", {.depth = 384, .rows = 240, .fly_depth = 128}},
    {"shallow-high", {.depth = 384, .rows = 480, .fly_depth = 128, .byte_block = 768 * kKiB}},
    {"deep-low", {.depth = 1536, .rows = 96, .fly_depth = 512}},
};

/// A panel of columns of the widest instruction set, and rows of a register tile.
constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kTileRows = 6;
constexpr std::int64_t kFewRows = 2 * kTileRows;

}  // namespace

GemmBlocks gemm_blocks(const sluice_op& op, Isa isa) {
  return find_tactic(kAll, tactic_of(op, isa)).blocks;
}

std::vector<std::string> list_gemm_tactics(GemmPlan plan, bool is_bytes, int workers) {
  return distinct_tactics(kAll, [&](const GemmTactic& tactic) -> PlanNumbers {
    const GemmBlocks& blocks = tactic.blocks;
    const bool by_columns = blocks.division != GemmDivision::kRows &&
                            divide_up(plan.n, kColumns) >= workers &&
                            (plan.n >= plan.m || blocks.division == GemmDivision::kColumns);
    const std::int64_t tiles = plan.batch_count() * divide_up(plan.m, kTileRows);
    if (blocks.division == GemmDivision::kRows && tiles < workers) return std::nullopt;
    const std::int64_t divided = workers > 1 ? (by_columns ? 1 : 2) : 0;
    const std::int64_t rows =
        by_columns || plan.batch_count() >= workers ? plan.m : divide_up(plan.m, workers);
    if (is_bytes) {
      const std::int64_t fitting = std::max<std::int64_t>(blocks.byte_block / plan.k, 1);
      return {{divided, divide_up(rows, fitting), 0}};
    }
    if (rows <= kFewRows && plan.b_form != GemmB::kColumns) return {{divided, 0, 0}};
    const bool is_packed = plan.b_form == GemmB::kPacked;
    const std::int64_t depth = is_packed ? blocks.depth : blocks.fly_depth;
    return {{divided, divide_up(rows, blocks.rows), divide_up(plan.k, depth)}};
  });
}

}  // namespace sluice::cpu
