#include "kernels/matrix/gemm.h"

#include "core/stop.h"
#include "kernels/matrix/gemm_pack.h"
#include "kernels/matrix/gemm_tile.h"
#include "kernels/matrix/tile_table.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

// Up to so many rows a panel has one or two tiles: each sweeps over all of K, then the epilogue
// runs.
constexpr std::int64_t kFewRows = 2 * kTileRows;
// Up to so many rounded rows are multiplied without arranging columns of blocks.
constexpr std::int64_t kFewRoundedRows = 6;
// Few rows meet so many columns of blocks at once: a quarter of them is several pages, so that the
// columns of a tile lie in pages of their own.
constexpr std::int64_t kBlockColumnsAtOnce = 256;
// The epilogue follows the tiles at this distance: far enough to amortise its call, near enough to
// find C in L1.
constexpr std::int64_t kEpilogueFloats = 1024;

/// What one batch item reads and writes.
struct Item {
  const float* a;
  const float* b;
  const std::uint16_t* half_b;
  float* c;
  const float* extra[kBodyMaxInputs];
};

/// The part of one item that one worker computes.
struct Region {
  std::int64_t row_begin;
  std::int64_t row_end;
  std::int64_t panel_begin;
  std::int64_t panel_end;
};

/// A piece of B in the form that tiles read.
struct Panel {
  const float* b;
  const std::uint16_t* half_b;  ///< in the place of `b`; null elsewhere
  std::int64_t b_row;
  std::int64_t column;  ///< first one
  int vectors;
  int tail;
  const char* next;  ///< packed panel that follows in memory order of use, or null
};

/// Rows of one register tile, the tile `index` of `count` over the same panel. `count` is 0 if the
/// panel is read only once: then nothing is prefetched.
struct RowTile {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t index;
  std::int64_t count;
};

struct Depths {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t length() const { return end - begin; }
};

/// The depth of the pieces in which B is packed or widened during the run. Those of 16 bits are
/// few, so that C is read and written a few times only.
std::int64_t piece_depth(const GemmPlan& plan) {
  if (!is_half(plan.b_form)) return smaller(plan.blocks.fly_depth, plan.k);
  const std::int64_t pieces =
      (plan.k + 2 * plan.blocks.fly_depth - 1) / (2 * plan.blocks.fly_depth);
  return (plan.k + pieces - 1) / pieces;
}

/// Rows that are multiplied without a panel of their own making.
std::int64_t few_rows(const GemmPlan& plan) {
  return plan.rounds_rows ? kFewRoundedRows : kFewRows;
}

/// Scratch for one panel of such a B.
std::int64_t scratch_panel_floats(const GemmPlan& plan) {
  if (plan.rounds_rows) return rounded_panel_floats(plan.b_row);
  return plan.b_form == GemmB::kPacked ? 0 : piece_depth(plan) * kPanelWidth;
}

/// A piece of a column of kBlocks, as floats.
std::int64_t widened_floats(std::int64_t depth) { return (depth + 31) / 32 * 32; }

/// Scratch for columns of blocks as floats, or for the rows that multiply them.
std::int64_t scratch_block_floats(const GemmPlan& plan) {
  if (plan.b_form != GemmB::kBlocks) return 0;
  const std::int64_t few = smaller(plan.m, few_rows(plan)) * block_row_floats(plan.b_row);
  const std::int64_t many = plan.rounds_rows
                                ? smaller(plan.m, plan.blocks.rows) * rounded_row_floats(plan.b_row)
                                : widened_floats(piece_depth(plan)) * kPanelWidth;
  return few > many ? few : many;
}

/// Rows of a block: the fewest blocks of at most `most` rows, of nearly equal height. A low last
/// block would read all of B for little work.
std::int64_t block_rows(std::int64_t rows, std::int64_t most) {
  const std::int64_t blocks = (rows + most - 1) / most;
  const std::int64_t tiles = (rows + blocks * kTileRows - 1) / (blocks * kTileRows);
  return tiles * kTileRows;
}

/// How much of K one sweep takes.
std::int64_t depth_step(const GemmPlan& plan, std::int64_t rows) {
  const bool is_packed = plan.b_form == GemmB::kPacked || is_half(plan.b_form);
  if (is_packed && rows <= kFewRows) return plan.k;
  const bool is_ready = plan.b_form == GemmB::kPacked || (is_packed && kConvertsBesideSums);
  if (!is_ready) return piece_depth(plan);
  const std::int64_t blocks = (plan.k + plan.blocks.depth - 1) / plan.blocks.depth;
  return (plan.k + blocks - 1) / blocks;
}

/// Packed rows of so many vectors, as floats.
template <typename T, int kVectors>
void widen_rows(const T* from, std::int64_t rows, float* to) {
  for (std::int64_t p = 0; p < rows; ++p) {
    Vec row[kVectors];
    load_row(from + p * kVectors * kLanes, row);
    SLUICE_CPU_UNROLL
    for (int v = 0; v < kVectors; ++v) store(to + (p * kVectors + v) * kLanes, row[v]);
  }
}

template <typename T>
void widen(const std::uint16_t* from, std::int64_t rows, int vectors, float* to) {
  const T* numbers = reinterpret_cast<const T*>(from);
  if constexpr (kTileVectors == 4) {
    if (vectors == 4) return widen_rows<T, 4>(numbers, rows, to);
    if (vectors == 3) return widen_rows<T, 3>(numbers, rows, to);
  }
  if (vectors == 2) return widen_rows<T, 2>(numbers, rows, to);
  widen_rows<T, 1>(numbers, rows, to);
}

class Multiplication {
 public:
  Multiplication(const GemmPlan& plan, const GemmArgs& args, const Worker& worker)
      : plan_(plan), args_(args), scratch_(reinterpret_cast<float*>(worker.scratch)) {}

  void run(const Item& item, const Region& region) const {
    if (region.row_end - region.row_begin <= few_rows(plan_)) {
      plan_.b_form == GemmB::kBlocks ? run_few_rows_of_blocks(item, region)
                                     : run_few_rows(item, region);
      return;
    }
    const std::int64_t step = block_rows(region.row_end - region.row_begin, plan_.blocks.rows);
    for (std::int64_t row = region.row_begin; row < region.row_end; row += step) {
      Region block = region;
      block.row_begin = row;
      block.row_end = smaller(row + step, region.row_end);
      plan_.rounds_rows ? run_rounded_block(item, block) : run_block(item, block);
    }
  }

 private:
  void run_block(const Item& item, const Region& region) const {
    const std::int64_t step = depth_step(plan_, region.row_end - region.row_begin);
    for (std::int64_t p = 0; p < plan_.k; p += step) {
      const Depths depths{p, smaller(p + step, plan_.k)};
      for (std::int64_t j = region.panel_begin; j < region.panel_end; ++j) {
        if (is_stopped()) return;
        run_panel(item, region, find_panel(item, j, depths, region), depths);
      }
    }
  }

  /// Rounds the rows, which then meet all of K of one panel after the other.
  void run_rounded_block(const Item& item, const Region& region) const {
    const BlockKernels& kernels = *args_.block_kernels;
    const std::int64_t rows = region.row_end - region.row_begin;
    for (std::int64_t i = 0; i < rows; ++i) {
      kernels.round(args_.blocks, item.a + (region.row_begin + i) * plan_.a_row, plan_.k,
                    block_scratch() + i * rounded_row_floats(plan_.b_row));
    }
    for (std::int64_t j = region.panel_begin; j < region.panel_end; ++j) {
      if (is_stopped()) return;
      const std::int64_t begin = j * kPanelWidth;
      const std::int64_t columns = panel_columns(plan_.n, j);
      kernels.multiply_rounded(args_.blocks, begin, begin + columns, block_scratch(), rows,
                               item.c + region.row_begin * plan_.c_row, plan_.c_row, scratch_);
      finish(item, {region.row_begin, region.row_end, begin, columns});
    }
  }

  /// Computes all rows of one panel. The epilogue follows kEpilogueFloats behind the tiles.
  void run_panel(const Item& item, const Region& region, const Panel& panel,
                 const Depths& depths) const {
    const std::int64_t rows = region.row_end - region.row_begin;
    const std::int64_t tiles = (rows + kTileRows - 1) / kTileRows;
    const std::int64_t columns = (panel.vectors - 1) * kLanes + panel.tail;
    std::int64_t finished = region.row_begin;
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t begin = region.row_begin + rows * t / tiles;
      const std::int64_t end = region.row_begin + rows * (t + 1) / tiles;
      multiply(item, panel, depths, {begin, end, t, tiles});
      const bool flush = (end - finished) * columns >= kEpilogueFloats || t + 1 == tiles;
      if (depths.end == plan_.k && flush) {
        finish(item, {finished, end, panel.column, columns});
        finished = end;
      }
    }
  }

  void run_few_rows(const Item& item, const Region& region) const {
    const std::int64_t step = depth_step(plan_, region.row_end - region.row_begin);
    const std::int64_t rows = region.row_end - region.row_begin;
    std::int64_t finished = region.panel_begin * kPanelWidth;
    for (std::int64_t j = region.panel_begin; j < region.panel_end; ++j) {
      if (is_stopped()) return;
      for (std::int64_t p = 0; p < plan_.k; p += step) {
        const Depths depths{p, smaller(p + step, plan_.k)};
        const Panel panel = find_panel(item, j, depths, region);
        const std::int64_t half = region.row_begin + (rows > kTileRows ? rows / 2 : 0);
        if (half > region.row_begin) multiply(item, panel, depths, {region.row_begin, half, 0, 0});
        multiply(item, panel, depths, {half, region.row_end, 0, 0});
      }
      const std::int64_t end = j * kPanelWidth + panel_columns(plan_.n, j);
      if ((end - finished) * rows >= kEpilogueFloats || j + 1 == region.panel_end) {
        finish(item, {region.row_begin, region.row_end, finished, end - finished});
        finished = end;
      }
    }
  }

  float* block_scratch() const { return scratch_ + scratch_panel_floats(plan_); }

  void run_few_rows_of_blocks(const Item& item, const Region& region) const {
    const BlockKernels& kernels = *args_.block_kernels;
    const std::int64_t row = block_row_floats(plan_.b_row);
    const std::int64_t rows = region.row_end - region.row_begin;
    for (std::int64_t i = 0; i < rows; ++i) {
      kernels.prepare(args_.blocks, item.a + (region.row_begin + i) * plan_.a_row, plan_.k,
                      block_scratch() + i * row);
    }
    const std::int64_t end = smaller(region.panel_end * kPanelWidth, plan_.n);
    for (std::int64_t j = region.panel_begin * kPanelWidth; j < end;) {
      if (is_stopped()) return;
      const std::int64_t columns = smaller(kBlockColumnsAtOnce, end - j);
      kernels.multiply(args_.blocks, j, j + columns, block_scratch(), row, rows,
                       item.c + region.row_begin * plan_.c_row, plan_.c_row);
      finish(item, {region.row_begin, region.row_end, j, columns});
      j += columns;
    }
  }

  /// As floats, into the scratch of panels.
  void widen_block_panel(std::int64_t column, std::int64_t columns, const Depths& depths) const {
    const std::int64_t step = widened_floats(depths.length());
    for (std::int64_t j = 0; j < columns; ++j) {
      args_.block_kernels->widen(args_.blocks, column + j, depths.begin, depths.length(),
                                 block_scratch() + j * step);
    }
    pack_columns(block_scratch(), step, depths.length(), columns, 1, scratch_);
  }

  Panel find_panel(const Item& item, std::int64_t index, const Depths& depths,
                   const Region& region) const {
    const std::int64_t columns = panel_columns(plan_.n, index);
    const int vectors = static_cast<int>((columns + kLanes - 1) / kLanes);
    Panel panel{nullptr,
                nullptr,
                panel_row(columns),
                index * kPanelWidth,
                vectors,
                static_cast<int>(columns) - (vectors - 1) * kLanes,
                nullptr};
    if (plan_.b_form == GemmB::kPacked) {
      const float* base = item.b + index * kPanelWidth * plan_.k;
      panel.b = base + depths.begin * panel.b_row;
      if (index + 1 < region.panel_end) {
        const std::int64_t next_row = panel_row(panel_columns(plan_.n, index + 1));
        panel.next =
            reinterpret_cast<const char*>(base + kPanelWidth * plan_.k + depths.begin * next_row);
      }
      return panel;
    }
    const std::int64_t rows = region.row_end - region.row_begin;
    if (is_half(plan_.b_form)) {
      const std::uint16_t* from =
          item.half_b + index * kPanelWidth * plan_.k + depths.begin * panel.b_row;
      if (index + 1 < region.panel_end) {
        const std::int64_t next_row = panel_row(panel_columns(plan_.n, index + 1));
        panel.next = reinterpret_cast<const char*>(
            item.half_b + (index + 1) * kPanelWidth * plan_.k + depths.begin * next_row);
      }
      if (rows <= kFewRows || kConvertsBesideSums) {
        panel.half_b = from;
        return panel;
      }
      const auto widen_panel = plan_.b_form == GemmB::kPackedF16 ? widen<Half> : widen<Bf16>;
      widen_panel(from, depths.length(), vectors, scratch_);
    } else if (plan_.b_form == GemmB::kBlocks) {
      widen_block_panel(panel.column, columns, depths);
    } else if (plan_.b_form == GemmB::kRows) {
      const float* from = item.b + depths.begin * plan_.b_row + panel.column;
      if (rows <= kFewRows && panel.tail == kLanes) {
        panel.b = from;
        panel.b_row = plan_.b_row;
        return panel;
      }
      pack_rows(from, plan_.b_row, depths.length(), columns, 1, scratch_);
    } else {
      pack_columns(item.b + panel.column * plan_.b_row + depths.begin, plan_.b_row, depths.length(),
                   columns, 1, scratch_);
    }
    panel.b = scratch_;
    return panel;
  }

  void multiply(const Item& item, const Panel& panel, const Depths& depths,
                const RowTile& tile) const {
    TileArgs args;
    args.depth = depths.length();
    args.a = item.a + tile.begin * plan_.a_row + depths.begin * plan_.a_step;
    args.a_row = plan_.a_row;
    args.a_step = plan_.a_step;
    args.b = panel.b;
    args.narrow_b = panel.half_b;
    args.b_row = panel.b_row;
    args.c = item.c + tile.begin * plan_.c_row + panel.column;
    args.c_row = plan_.c_row;
    args.bias = args_.bias == nullptr ? nullptr : args_.bias + panel.column;
    args.prefetch = nullptr;
    if (panel.next != nullptr && tile.count > 0) {
      const std::int64_t size = is_half(plan_.b_form) ? sizeof(std::uint16_t) : sizeof(float);
      const std::int64_t bytes = kPanelWidth * size;
      args.prefetch_step = (bytes + tile.count - 1) / tile.count;
      args.prefetch = panel.next + tile.index * args.prefetch_step * depths.length();
    }
    args.tail = panel.tail;
    args.accumulate = depths.begin > 0;
    if (depths.end == plan_.k) args.scale = plan_.scale;
    const std::int64_t rows = tile.end - tile.begin;
    const auto find = panel.half_b == nullptr             ? find_tile<float>
                      : plan_.b_form == GemmB::kPackedF16 ? find_tile<Half>
                                                          : find_tile<Bf16>;
    find(rows, panel.vectors)(args);
  }

  void finish(const Item& item, const GemmPart& part) const {
    run_epilogue(plan_, item.c, item.extra, part,
                 scratch_ + scratch_panel_floats(plan_) + scratch_block_floats(plan_));
  }

  const GemmPlan& plan_;
  const GemmArgs& args_;
  float* scratch_;
};

std::int64_t batch_offset(const GemmPlan& plan, const GemmBatch& batch, std::int64_t index) {
  std::int64_t offset = 0;
  for (int d = kGemmBatchRank - 1; d >= 0; --d) {
    offset += index % plan.batch_dims[d] * batch.stride[d];
    index /= plan.batch_dims[d];
  }
  return offset;
}

Item find_item(const GemmPlan& plan, const GemmArgs& args, std::int64_t index) {
  Item item;
  item.a = args.a + batch_offset(plan, plan.a_batch, index);
  item.b = args.b + batch_offset(plan, plan.b_batch, index);
  item.half_b = args.half_b;  // never batched
  item.c = args.c + batch_offset(plan, plan.c_batch, index);
  for (int i = 1; i < plan.epilogue.input_count; ++i) {
    item.extra[i] = args.extra[i] + batch_offset(plan, plan.extra_batch[i], index);
  }
  return item;
}

}  // namespace

void run_epilogue(const GemmPlan& plan, float* c, const float* const* extra, const GemmPart& part,
                  float* temps) {
  if (plan.epilogue.empty()) return;
  const std::int64_t rows_at_once = kBodyTileFloats / part.columns;
  for (std::int64_t row = part.row_begin; row < part.row_end; row += rows_at_once) {
    const std::int64_t rows = smaller(rows_at_once, part.row_end - row);
    float* out = c + row * plan.c_row + part.column;
    BodyOperand inputs[kBodyMaxInputs];
    inputs[0] = {out, plan.c_row, 1};
    for (int i = 1; i < plan.epilogue.input_count; ++i) {
      BodyOperand operand = plan.extra_strides[i];
      operand.data = extra[i];
      inputs[i] = operand.at(row, part.column);
    }
    run_body(plan.epilogue, inputs, {out, plan.c_row, rows, part.columns}, temps);
  }
}

std::int64_t gemm_scratch_bytes(const GemmPlan& plan) {
  const std::int64_t floats = scratch_panel_floats(plan) + scratch_block_floats(plan);
  return floats * static_cast<std::int64_t>(sizeof(float)) + plan.epilogue.scratch_bytes();
}

void run_gemm(const GemmPlan& plan, const GemmArgs& args, const Worker& worker) {
  const std::int64_t panels = panel_count(plan.n);
  const std::int64_t tiles = (plan.m + kTileRows - 1) / kTileRows;
  const GemmDivision division = plan.blocks.division;
  const bool by_columns = panels >= worker.count && division != GemmDivision::kRows &&
                          (plan.n >= plan.m || division == GemmDivision::kColumns);
  const std::int64_t pieces = by_columns ? panels : tiles;
  if (plan.m == 0 || plan.n == 0) return;
  const Share share = share_of(plan.batch_count() * pieces, 1, worker);
  const Multiplication multiplication(plan, args, worker);
  for (std::int64_t at = share.begin; at < share.end;) {
    const std::int64_t index = at / pieces;
    const std::int64_t begin = at - index * pieces;
    const std::int64_t end = smaller(pieces, begin + share.end - at);
    // A share may cross items. Within an item it is a range of panels, or of tiles of rows.
    Region region{0, plan.m, begin, end};
    if (!by_columns) {
      region = {plan.m * begin / tiles, plan.m * end / tiles, 0, panels};
    }
    multiplication.run(find_item(plan, args, index), region);
    at += end - begin;
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
