#include "ops/matrix/byte_matrix.h"

#include <algorithm>

#include "core/divide.h"
#include "core/stop.h"

namespace sluice::cpu {
namespace {

// The epilogue follows the tiles at this distance, as in kernels/matrix/gemm.cc.
constexpr std::int64_t kEpilogueFloats = 1024;

}  // namespace

ByteProduct::ByteProduct(const GemmPlan& plan, Isa isa)
    : plan_(&plan), isa_(isa), panels_{plan.k, plan.n, byte_tiles(isa).width} {}

std::int64_t ByteProduct::shared_bytes() const { return scales_bytes() + plan_->m * row_bytes(); }

/// The shared memory holds a scale per row of A, then the rows in bytes, padded to whole groups.
void ByteProduct::round(const GemmArgs& args, std::byte* shared, const Worker& worker) const {
  auto* scales = reinterpret_cast<float*>(shared);
  auto* bytes = reinterpret_cast<std::uint8_t*>(shared + scales_bytes());
  const Share rows = share_of(plan_->m, 1, worker);
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    SLUICE_CPU_PICK(isa_, round_row)
    (args.a + i * plan_->a_row, plan_->k, row_bytes(), bytes + i * row_bytes(), scales + i);
  }
}

void ByteProduct::multiply(const GemmArgs& args, const void* packed, const std::uint8_t* narrow,
                           std::byte* shared, const Worker& worker) const {
  const std::int64_t tiles = divide_up(plan_->m, byte_tiles(isa_).rows);
  const std::int64_t panels = panels_.count();
  const GemmDivision division = plan_->blocks.division;
  const bool by_columns = panels >= worker.count && division != GemmDivision::kRows &&
                          (plan_->n >= plan_->m || division == GemmDivision::kColumns);
  const Share share = share_of(by_columns ? panels : tiles, 1, worker);
  Region region = {0, plan_->m, share.begin, share.end};
  if (!by_columns) {
    region = {plan_->m * share.begin / std::max<std::int64_t>(tiles, 1),
              plan_->m * share.end / std::max<std::int64_t>(tiles, 1), 0, panels};
  }
  const std::int64_t rows = region.row_end - region.row_begin;
  // A block of rows stays in the second-level cache while the panels of B pass by.
  const std::int64_t most = std::max<std::int64_t>(plan_->blocks.byte_block / row_bytes(), 1);
  const std::int64_t blocks = divide_up(rows, most);
  for (std::int64_t b = 0; b < blocks && !is_stopped(); ++b) {
    Region block = region;
    block.row_begin = region.row_begin + rows * b / blocks;
    block.row_end = region.row_begin + rows * (b + 1) / blocks;
    run_block(args, packed, narrow, shared, block, reinterpret_cast<float*>(worker.scratch));
  }
}

void ByteProduct::run_block(const GemmArgs& args, const void* packed, const std::uint8_t* narrow,
                            std::byte* shared, const Region& block, float* temps) const {
  const ByteTileSet& set = byte_tiles(isa_);
  const auto* scales = reinterpret_cast<const float*>(shared);
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(shared + scales_bytes());
  const std::int64_t rows = block.row_end - block.row_begin;
  const std::int64_t tiles = divide_up(rows, set.rows);
  for (std::int64_t j = block.panel_begin; j < block.panel_end; ++j) {
    const auto* panel = static_cast<const std::byte*>(packed) + j * panels_.panel_bytes();
    const std::int64_t column = j * panels_.width;
    const std::int64_t columns = std::min(panels_.width, plan_->n - column);
    const bool is_narrow = narrow != nullptr && narrow[j] != 0;
    ByteTile tile;
    tile.a_row = row_bytes();
    tile.b = reinterpret_cast<const std::int8_t*>(panel);
    tile.groups = panels_.groups();
    tile.c_row = plan_->c_row;
    tile.column_scales = reinterpret_cast<const float*>(panel + panels_.width * row_bytes());
    tile.corrections = reinterpret_cast<const std::int32_t*>(tile.column_scales + panels_.width);
    tile.bias = args.bias == nullptr ? nullptr : args.bias + column;
    tile.columns = static_cast<int>(columns);
    std::int64_t finished = block.row_begin;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t begin = block.row_begin + rows * t / tiles;
      const std::int64_t end = block.row_begin + rows * (t + 1) / tiles;
      tile.a = bytes + begin * row_bytes();
      tile.row_scales = scales + begin;
      tile.c = args.c + begin * plan_->c_row + column;
      set.find(static_cast<int>(end - begin), tile.columns, is_narrow)(tile);
      if ((end - finished) * columns < kEpilogueFloats && t + 1 < tiles) continue;
      SLUICE_CPU_PICK(isa_, run_epilogue)
      (*plan_, args.c, args.extra, {finished, end, column, columns}, temps);
      finished = end;
    }
  }
}

}  // namespace sluice::cpu
