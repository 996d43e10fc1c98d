#include "kernels/strassen/strassen.h"

#include "core/stop.h"
#include "kernels/strassen/strassen_groups.h"
#include "kernels/strassen/strassen_prefetches.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Rows of A and C in one chunk. Their X and their sums of blocks of A must stay in L2 while the
/// panels of B pass by.
constexpr std::int64_t kChunkRows = 256;

/// Rows of a block.
std::int64_t block_rows(const StrassenCut& cut, const GemmPlan& plan) {
  return (plan.m + (std::int64_t{1} << cut.levels) - 1) >> cut.levels;
}

/// Rows of each block in one chunk.
std::int64_t chunk_rows(const StrassenCut& cut, const GemmPlan& plan) {
  return smaller(block_rows(cut, plan), kChunkRows >> cut.levels);
}

/// Floats of X in one strip of groups (2 MB): more columns at a time gained nothing, fewer lost
/// 0.02 where there are many columns (docs/decisions/0020).
constexpr std::int64_t kStripFloats = 512 << 10;

/// Sums of blocks of A in one stage. With two levels, a stage is one outer sum with its seven inner
/// sums; with one level it is a pair of products.
constexpr std::int64_t stage_sums(int levels) { return levels == 2 ? 7 : 2; }

/// Scratch of a worker, in floats.
struct Layout {
  std::int64_t sum_row;  ///< from one row of a sum of blocks of A to the next
  std::int64_t sum;      ///< from one sum to the next
  std::int64_t x;        ///< where X of a strip of groups begins
  std::int64_t group;    ///< distance between the X of two groups
  std::int64_t strip;    ///< largest number of groups
  std::int64_t rest;     ///< a block of X of the inner level
  std::int64_t zeros;    ///< a row of a block that lies beyond the last
  std::int64_t temps;    ///< where the epilogue's temporaries begin
};

Layout find_layout(const StrassenCut& cut, const GemmPlan& plan) {
  const std::int64_t depth = strassen_block_depth(cut, plan.k);
  const std::int64_t rows = chunk_rows(cut, plan);
  Layout layout;
  // Rows or sums at distances of a multiple of 1 KB would share a few sets of L1: add a line.
  layout.sum_row = depth % 256 == 0 ? depth + 16 : depth;
  layout.sum = rows * layout.sum_row;
  if (layout.sum % 256 == 0) layout.sum += 48;
  layout.x = stage_sums(cut.levels) * layout.sum;
  const std::int64_t block = rows * kStrassenVectors * kLanes;
  layout.group = block << 2 * cut.levels;
  const std::int64_t fitting = kStripFloats / layout.group;
  layout.strip = smaller(fitting > 0 ? fitting : 1, strassen_groups(plan.n, cut.levels).count);
  layout.rest = layout.x + layout.strip * layout.group;
  layout.zeros = layout.rest + block;
  layout.temps = layout.zeros + depth;
  return layout;
}

/// A block of A, or the sum or difference of two.
template <bool kIsPair>
struct BlockPair {
  const float* first;
  const float* second;
  float sign;
  Vec at(std::int64_t p) const {
    return kIsPair ? fmadd(broadcast(sign), load(second + p), load(first + p)) : load(first + p);
  }
};

template <int kLevels>
class StrassenProduct {
 public:
  StrassenProduct(const StrassenCut& cut, const GemmPlan& plan, const GemmArgs& args,
                  const Worker& worker)
      : cut_(cut),
        plan_(plan),
        args_(args),
        groups_(strassen_groups(plan.n, kLevels)),
        layout_(find_layout(cut, plan)),
        depth_(strassen_block_depth(cut, plan.k)),
        block_rows_(block_rows(cut, plan)),
        scratch_(reinterpret_cast<float*>(worker.scratch)) {
    for (std::int64_t p = 0; p < depth_; p += kLanes) store(scratch_ + layout_.zeros + p, Vec{});
  }

  /// `rows` of every block, `groups` of the columns.
  void run(const Share& rows, const Share& groups) const {
    const std::int64_t row_count = rows.end - rows.begin;
    const std::int64_t most = chunk_rows(cut_, plan_);
    const std::int64_t chunks = (row_count + most - 1) / most;
    const std::int64_t group_count = groups.end - groups.begin;
    const std::int64_t strips = (group_count + layout_.strip - 1) / layout_.strip;
    for (std::int64_t c = 0; c < chunks; ++c) {
      const Share part{rows.begin + row_count * c / chunks,
                       rows.begin + row_count * (c + 1) / chunks};
      for (std::int64_t s = 0; s < strips; ++s) {
        run_strip(part, {groups.begin + group_count * s / strips,
                         groups.begin + group_count * (s + 1) / strips});
      }
    }
  }

 private:
  static constexpr int kBlocks = 1 << kLevels;
  static constexpr int kStages = kLevels == 1 ? 4 : 7;

  /// One stage's sums of A serve all groups of the strip while they are in cache.
  void run_strip(const Share& part, const Share& groups) const {
    StrassenPrefetches prefetches;
    for (std::int64_t stretch = 0; stretch < cut_.stretches; ++stretch) {
      for (int stage = 0; stage < kStages; ++stage) {
        sum_blocks(part, stretch, stage);
        for (std::int64_t g = groups.begin; g < groups.end; ++g) {
          if (is_stopped()) return;
          float* x = scratch_ + layout_.x + (g - groups.begin) * layout_.group;
          plan_prefetches(part, stretch, stage, groups, g, x, &prefetches);
          multiply(part, stretch, stage, groups, g, x, &prefetches);
          if (stretch + 1 == cut_.stretches && stage + 1 == kStages) finish(part, g, x);
        }
      }
    }
  }

  /// The panel of a stage's first product.
  const float* panels(std::int64_t stretch, std::int64_t group, int stage) const {
    const int product = stage * (kLevels == 1 ? 2 : 7);
    return args_.b + strassen_panels_at(cut_, groups_, depth_, stretch, group) +
           product * depth_ * groups_.panel_vectors(group) * kLanes;
  }

  /// Row `i` of block (row, column) of A; a row of zeros beyond the last row of A.
  const float* block_of_a(std::int64_t i, std::int64_t stretch, int row, int column) const {
    const std::int64_t at = row * block_rows_ + i;
    if (at >= plan_.m) return scratch_ + layout_.zeros;
    return args_.a + at * plan_.a_row + (stretch * kBlocks + column) * depth_;
  }

  void sum_blocks(const Share& part, std::int64_t stretch, int stage) const {
    const int first = kLevels == 1 ? 2 * stage : stage;
    const int count = kLevels == 1 && stage < 3 ? 2 : 1;
    for (int r = 0; r < count; ++r) {
      const StrassenPair& pair = kStrassenA[first + r];
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        float* to = scratch_ + r * layout_.sum + (i - part.begin) * layout_.sum_row;
        if (pair.sign == 0) {
          sum_row<false>(i, stretch, pair, to);
        } else {
          sum_row<true>(i, stretch, pair, to);
        }
      }
    }
  }

  template <bool kIsPair>
  void sum_row(std::int64_t i, std::int64_t stretch, const StrassenPair& pair, float* to) const {
    constexpr int kInner = kBlocks / 2;
    BlockPair<kIsPair> blocks[4];
    for (int q = 0; q < kInner * kInner; ++q) {
      const int row = q / 2;
      const int column = q % 2;
      blocks[q] = {
          block_of_a(i, stretch, pair.first / 2 * kInner + row, pair.first % 2 * kInner + column),
          block_of_a(i, stretch, pair.second / 2 * kInner + row, pair.second % 2 * kInner + column),
          pair.sign};
    }
    for (std::int64_t p = 0; p < depth_; p += kLanes) {
      if constexpr (kLevels == 1) {
        store(to + p, blocks[0].at(p));
      } else {
        const Vec inner[4] = {blocks[0].at(p), blocks[1].at(p), blocks[2].at(p), blocks[3].at(p)};
        Vec sums[7];
        sum_blocks_of_a(inner, sums);
        SLUICE_CPU_UNROLL
        for (int r = 0; r < 7; ++r) store(to + r * layout_.sum + p, sums[r]);
      }
    }
  }

  /// Plans the prefetches of one group's products. In the last stage: the X from which `finish`
  /// computes C, and the memory of C. In earlier stages: the blocks of A for the next sums.
  void plan_prefetches(const Share& part, std::int64_t stretch, int stage, const Share& groups,
                       std::int64_t group, const float* x, StrassenPrefetches* prefetches) const {
    const std::int64_t rows = part.end - part.begin;
    if (stretch + 1 == cut_.stretches && stage + 1 == kStages) {
      const std::int64_t width = std::int64_t{groups_.panel_vectors(group)} * kLanes;
      const std::int64_t column = groups_.first_column(group);
      prefetches->forget();
      prefetches->add(x, 1, kBlocks * kBlocks * rows * width, 0);
      for (int q = 0; q < kBlocks; ++q) {
        const std::int64_t row = q * block_rows_ + part.begin;
        prefetches->add(args_.c + row * plan_.c_row + column, smaller(rows, plan_.m - row),
                        kBlocks * width, plan_.c_row);
      }
      return;
    }
    if (group != (groups.end - groups.begin > 1 ? groups.end - 2 : groups.begin)) return;
    prefetches->forget();
    if (kLevels == 1) return;  // its sums read the same four blocks in every stage
    const bool is_last = stage + 1 == kStages;
    if (is_last) ++stretch;
    const StrassenPair& pair = kStrassenA[is_last ? 0 : stage + 1];
    for (int which = 0; which < (pair.sign == 0 ? 1 : 2); ++which) {
      const int block = which == 0 ? pair.first : pair.second;
      for (int q = 0; q < 2; ++q) {
        const std::int64_t row = (block / 2 * 2 + q) * block_rows_ + part.begin;
        prefetches->add(args_.a + row * plan_.a_row + (stretch * kBlocks + block % 2 * 2) * depth_,
                        smaller(rows, plan_.m - row), 2 * depth_, plan_.a_row);
      }
    }
  }

  /// The panels that are used after those of a stage and group. After the last ones, panels that
  /// are in cache: fetching them again is harmless.
  const float* panels_behind(std::int64_t stretch, int stage, const Share& groups,
                             std::int64_t group) const {
    if (group + 1 < groups.end) return panels(stretch, group + 1, stage);
    if (stage + 1 < kStages) return panels(stretch, groups.begin, stage + 1);
    if (stretch + 1 < cut_.stretches) return panels(stretch + 1, groups.begin, 0);
    return panels(stretch, group, stage);
  }

  /// Multiplies: the products of one stage and one group.
  void multiply(const Share& part, std::int64_t stretch, int stage, const Share& groups,
                std::int64_t group, float* x, StrassenPrefetches* prefetches) const {
    const int vectors = groups_.panel_vectors(group);
    const std::int64_t width = std::int64_t{vectors} * kLanes;
    const std::int64_t rows = part.end - part.begin;
    const std::int64_t panel = depth_ * width;
    const float* b = panels(stretch, group, stage);
    const float* next = panels_behind(stretch, stage, groups, group);
    StrassenTileArgs t;
    t.depth = depth_;
    t.a_row = layout_.sum_row;
    if constexpr (kLevels == 1) {
      t.products = stage < 3 ? 2 : 1;
      const float* following[2] = {next, next + panel};
      t.rest = {x, stage == 0 && stretch == 0};
      t.to = {x + (3 - stage) * rows * width, stage == 3 || stretch == 0};
      t.from = {nullptr, false};
      multiply_pair(rows, vectors, scratch_, b, following, t, prefetches);
    } else {
      const int block = 3 - stage / 2;
      const bool gives_twice = stage % 2 == 0 && stage < 6;
      for (int pair = 0; pair < 4; ++pair) {
        const float* following[2];
        for (int i = 0; i < 2; ++i) {
          const int ahead = 2 * pair + i + 2;
          following[i] = ahead < 7 ? b + ahead * panel : next + (ahead - 7) * panel;
        }
        if (pair == 3) following[0] = next + panel;
        const std::int64_t inner = (3 - pair) * rows * width;
        t.products = pair < 3 ? 2 : 1;
        t.rest = {scratch_ + layout_.rest, pair == 0};
        t.to = {x + block * 4 * rows * width + inner, stretch == 0 && gives_twice};
        t.from = {gives_twice ? x + inner : nullptr, stretch == 0 && stage == 0};
        multiply_pair(rows, vectors, scratch_ + 2 * pair * layout_.sum, b + 2 * pair * panel,
                      following, t, prefetches);
      }
    }
  }

  /// One product or two for all rows; `t` has the targets of the first.
  void multiply_pair(std::int64_t rows, int vectors, const float* a, const float* b,
                     const float* const (&next)[2], StrassenTileArgs t,
                     StrassenPrefetches* prefetches) const {
    const std::int64_t width = std::int64_t{vectors} * kLanes;
    const std::int64_t tiles = (rows + kStrassenRows - 1) / kStrassenRows;
    constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
    t.next_b_step = (width * kFloat + tiles - 1) / tiles;
    const StrassenTileArgs whole = t;
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const std::int64_t from = rows * tile / tiles;
      const std::int64_t to = rows * (tile + 1) / tiles;
      for (int r = 0; r < t.products; ++r) {
        t.a[r] = a + r * layout_.sum + from * layout_.sum_row;
        t.b[r] = b + r * depth_ * width;
        t.prefetch[r] = prefetches->take(depth_ / 2, scratch_);
        t.next_b[r] = reinterpret_cast<const char*>(next[r]) + tile * t.next_b_step * depth_;
      }
      t.rest.x = whole.rest.x + from * width;
      t.to.x = whole.to.x + from * width;
      if (whole.from.x != nullptr) t.from.x = whole.from.x + from * width;
      find_strassen_tile(to - from, vectors)(t);
    }
  }

  /// Computes C from X, with bias and epilogue.
  void finish(const Share& part, std::int64_t group, const float* x) const {
    const std::int64_t width = std::int64_t{groups_.panel_vectors(group)} * kLanes;
    const std::int64_t column = groups_.first_column(group);
    const std::int64_t columns = smaller(plan_.n - column, kBlocks * width);
    const std::int64_t rows_at_once = kBodyTileFloats / columns;
    for (std::int64_t i = part.begin; i < part.end; i += rows_at_once) {
      const Share rows{i, smaller(i + rows_at_once, part.end)};
      for (std::int64_t at = rows.begin; at < rows.end; ++at) {
        finish_row(at, x + (at - part.begin) * width, (part.end - part.begin) * width, group);
      }
      if (plan_.epilogue.empty()) continue;
      for (int q = 0; q < kBlocks; ++q) {
        run_epilogue(plan_, args_.c, args_.extra,
                     {q * block_rows_ + rows.begin, smaller(q * block_rows_ + rows.end, plan_.m),
                      column, columns},
                     scratch_ + layout_.temps);
      }
    }
  }

  /// Computes row `i` of every block of C that has it. Blocks of X lie `block` floats apart.
  void finish_row(std::int64_t i, const float* x, std::int64_t block, std::int64_t group) const {
    const std::int64_t width = std::int64_t{groups_.panel_vectors(group)} * kLanes;
    for (std::int64_t j = 0; j < width; j += kLanes) {
      Vec c[kBlocks][kBlocks];
      SLUICE_CPU_UNROLL
      for (int q = 0; q < kBlocks; ++q) {
        SLUICE_CPU_UNROLL
        for (int s = 0; s < kBlocks; ++s) c[q][s] = load(x + block_of_x(q, s) * block + j);
      }
      finish_blocks(c);
      SLUICE_CPU_UNROLL
      for (int s = 0; s < kBlocks; ++s) {
        const std::int64_t column = groups_.first_column(group) + s * width + j;
        const auto count = static_cast<int>(smaller(kLanes, plan_.n - column));
        if (count <= 0) continue;
        const Vec bias = args_.bias == nullptr ? Vec{} : load_first(args_.bias + column, count);
        SLUICE_CPU_UNROLL
        for (int q = 0; q < kBlocks; ++q) {
          const std::int64_t at = q * block_rows_ + i;
          if (at >= plan_.m) break;
          float* to = args_.c + at * plan_.c_row + column;
          if (count == kLanes) {
            store(to, c[q][s] + bias);
          } else {
            store_first(to, c[q][s] + bias, count);
          }
        }
      }
    }
  }

  /// The inner level's four blocks lie side by side.
  static constexpr int block_of_x(int row, int column) {
    if constexpr (kLevels == 1) return 2 * row + column;
    return (row / 2 * 2 + column / 2) * 4 + row % 2 * 2 + column % 2;
  }

  static void finish_blocks(Vec (&c)[kBlocks][kBlocks]) {
    SLUICE_CPU_UNROLL
    for (int q = 0; q < kBlocks; q += 2) {
      SLUICE_CPU_UNROLL
      for (int s = 0; s < kBlocks; s += 2) {
        finish_blocks_of_c(c[q][s], c[q][s + 1], c[q + 1][s], c[q + 1][s + 1]);
      }
    }
    if constexpr (kLevels == 2) {
      SLUICE_CPU_UNROLL
      for (int q = 0; q < 2; ++q) {
        SLUICE_CPU_UNROLL
        for (int s = 0; s < 2; ++s) {
          finish_blocks_of_c(c[q][s], c[q][s + 2], c[q + 2][s], c[q + 2][s + 2]);
        }
      }
    }
  }

  const StrassenCut& cut_;
  const GemmPlan& plan_;
  const GemmArgs& args_;
  StrassenGroups groups_;
  Layout layout_;
  std::int64_t depth_;
  std::int64_t block_rows_;
  float* scratch_;
};

/// Workers divide the columns into `columns` parts and the rows of blocks into `rows` parts.
struct Grid {
  int columns;
  int rows;
};

/// Returns the grid with the smallest largest part; among equal ones, the grid that divides the
/// larger of A and B.
Grid find_grid(const GemmPlan& plan, std::int64_t groups, std::int64_t tiles, int workers) {
  Grid best = {1, workers};
  std::int64_t best_part = INT64_MAX;
  for (int columns = 1; columns <= workers; ++columns) {
    if (workers % columns != 0) continue;
    const int rows = workers / columns;
    const std::int64_t part = ((groups + columns - 1) / columns) * ((tiles + rows - 1) / rows);
    if (part < best_part || (part == best_part && plan.n >= plan.m)) {
      best = {columns, rows};
      best_part = part;
    }
  }
  return best;
}

template <int kLevels>
void run(const StrassenCut& cut, const GemmPlan& plan, const GemmArgs& args, const Worker& worker) {
  const std::int64_t groups = strassen_groups(plan.n, kLevels).count;
  const std::int64_t rows = block_rows(cut, plan);
  const std::int64_t tiles = (rows + kStrassenRows - 1) / kStrassenRows;
  const Grid grid = find_grid(plan, groups, tiles, worker.count);
  const Share columns_share =
      share_of(groups, 1, {worker.index % grid.columns, grid.columns, nullptr});
  const Share tiles_share = share_of(tiles, 1, {worker.index / grid.columns, grid.rows, nullptr});
  StrassenProduct<kLevels>(cut, plan, args, worker)
      .run({rows * tiles_share.begin / tiles, rows * tiles_share.end / tiles}, columns_share);
}

}  // namespace

std::int64_t strassen_scratch_bytes(const StrassenCut& cut, const GemmPlan& plan) {
  return find_layout(cut, plan).temps * static_cast<std::int64_t>(sizeof(float)) +
         plan.epilogue.scratch_bytes();
}

void run_strassen(const StrassenCut& cut, const GemmPlan& plan, const GemmArgs& args,
                  const Worker& worker) {
  if (cut.levels == 1) {
    run<1>(cut, plan, args, worker);
  } else {
    run<2>(cut, plan, args, worker);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
