#include "kernels/strassen.h"

#include "kernels/strassen_groups.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// Rows of A and C that are computed at once: what they give, and the sums of their blocks, are to
/// stay near while panels pass by.
constexpr std::int64_t kChunkRows = 256;

/// Rows of a block.
std::int64_t block_rows(const StrassenCut& cut, const GemmPlan& plan) {
  return (plan.m + (std::int64_t{1} << cut.levels) - 1) >> cut.levels;
}

/// Of each block at once.
std::int64_t chunk_rows(const StrassenCut& cut, const GemmPlan& plan) {
  return smaller(block_rows(cut, plan), kChunkRows >> cut.levels);
}

/// Groups whose C is summed up at once, of floats in all.
constexpr std::int64_t kStripFloats = 96 << 10;

/// Sums of blocks of A that are made at a time: those with one outer sum in them.
constexpr std::int64_t stage_sums(int levels) { return levels == 2 ? 7 : 1; }

/// Scratch of a worker, in floats: sums of blocks of A, C of a strip of groups, epilogue.
struct Layout {
  std::int64_t sum_row;   ///< from one row of a sum to the next
  std::int64_t sum;       ///< from one sum to the next
  std::int64_t finished;  ///< where C begins
  std::int64_t group;     ///< from C of one group to that of the next
  std::int64_t strip;     ///< most groups
  std::int64_t temps;     ///< where the epilogue's temporaries begin
};

Layout find_layout(const StrassenCut& cut, const GemmPlan& plan) {
  const std::int64_t depth = strassen_block_depth(cut, plan.k);
  const std::int64_t rows = chunk_rows(cut, plan);
  // Rows, and sums, a multiple of 4 KB apart would share a few sets of the nearest cache.
  const std::int64_t row = depth % 256 == 0 ? depth + 16 : depth;
  const std::int64_t sum = rows * row % 256 == 0 ? rows * row + 48 : rows * row;
  const std::int64_t finished = stage_sums(cut.levels) * sum;
  const std::int64_t group = rows * kStrassenVectors * kLanes << 2 * cut.levels;
  const std::int64_t fitting = kStripFloats / group;
  const std::int64_t strip =
      smaller(fitting > 0 ? fitting : 1, strassen_groups(plan.n, cut.levels).count);
  return {row, sum, finished, group, strip, finished + strip * group};
}

/// A block of A, with another one added or taken off.
struct BlockPair {
  const float* first;
  const float* second;
  float sign;
  Vec at(std::int64_t p) const {
    return sign == 0 ? load(first + p) : fmadd(broadcast(sign), load(second + p), load(first + p));
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
        scratch_(reinterpret_cast<float*>(worker.scratch)) {}

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
  static constexpr int kBlocks = StrassenTable<kLevels>::kBlocks;
  static constexpr int kStageSums = kLevels == 2 ? 7 : 1;

  float* finished(const Share& groups, std::int64_t group) const {
    return scratch_ + layout_.finished + (group - groups.begin) * layout_.group;
  }

  /// Sums are made for all groups of the strip, and few at a time: they are read again while they
  /// are near.
  void run_strip(const Share& part, const Share& groups) const {
    for (std::int64_t stretch = 0; stretch < cut_.stretches; ++stretch) {
      for (int stage = 0; stage < 7; ++stage) {
        sum_blocks(part, stretch, stage);
        for (std::int64_t g = groups.begin; g < groups.end; ++g) {
          // What follows in the order of use; behind the last of all, nothing that is needed.
          const bool is_last = g + 1 == groups.end;
          const float* next =
              is_last ? panels(stretch, groups.begin, stage + 1) : panels(stretch, g + 1, stage);
          multiply(part, stretch, stage, g, next, finished(groups, g));
        }
      }
    }
    for (std::int64_t g = groups.begin; g < groups.end; ++g) {
      const std::int64_t row = std::int64_t{kBlocks} * groups_.panel_vectors(g) * kLanes;
      for (int q = 0; q < kBlocks; ++q) {
        finish({q * block_rows_ + part.begin, q * block_rows_ + part.end},
               finished(groups, g) + q * (part.end - part.begin) * row, row,
               groups_.first_column(g));
      }
    }
  }

  /// Panels of one stage.
  const float* panels(std::int64_t stretch, std::int64_t group, int stage) const {
    return args_.b + strassen_panels_at(cut_, groups_, depth_, stretch, group) +
           std::int64_t{stage} * kStageSums * depth_ * groups_.panel_vectors(group) * kLanes;
  }

  /// Block (row, column) of A, from a row of it on: `zeros` beyond the last row.
  const float* block_of_a(std::int64_t i, std::int64_t stretch, int row, int column,
                          const float* zeros) const {
    const std::int64_t at = row * block_rows_ + i;
    if (at >= plan_.m) return zeros;
    return args_.a + at * plan_.a_row + (stretch * kBlocks + column) * depth_;
  }

  void sum_blocks(const Share& part, std::int64_t stretch, int stage) const {
    float* zeros = scratch_ + layout_.temps;
    for (std::int64_t p = 0; p < depth_; p += kLanes) store(zeros + p, Vec{});
    const StrassenPair& pair = kStrassenA[stage];
    constexpr int kInner = kBlocks / 2;
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      BlockPair blocks[4];
      for (int q = 0; q < kInner * kInner; ++q) {
        const int row = q / 2;
        const int column = q % 2;
        blocks[q] = {block_of_a(i, stretch, pair.first / 2 * kInner + row,
                                pair.first % 2 * kInner + column, zeros),
                     block_of_a(i, stretch, pair.second / 2 * kInner + row,
                                pair.second % 2 * kInner + column, zeros),
                     pair.sign};
      }
      float* to = scratch_ + (i - part.begin) * layout_.sum_row;
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
  }

  /// The products of one stage, of one group; `next` is the panel to be read behind them.
  void multiply(const Share& part, std::int64_t stretch, int stage, std::int64_t group,
                const float* next, float* finished) const {
    const int vectors = groups_.panel_vectors(group);
    const std::int64_t width = std::int64_t{vectors} * kLanes;
    const std::int64_t rows = part.end - part.begin;
    const std::int64_t tiles = (rows + kStrassenRows - 1) / kStrassenRows;
    const float* panel = panels(stretch, group, stage);
    StrassenTileArgs t;
    t.depth = depth_;
    t.a_row = layout_.sum_row;
    t.target_row = kBlocks * width;
    t.next_b_step = (width * static_cast<std::int64_t>(sizeof(float)) + tiles - 1) / tiles;
    for (int r = 0; r < kStageSums; ++r, panel += depth_ * width) {
      const StrassenSum& targets = kStrassenTable<kLevels>.c[stage * kStageSums + r];
      const float* following = r + 1 < kStageSums ? panel + depth_ * width : next;
      t.b = panel;
      t.count = targets.count;
      for (int i = 0; i < targets.count; ++i) {
        t.sign[i] = targets.terms[i].sign;
        t.is_first[i] = targets.terms[i].is_first && stretch == 0;
      }
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        const std::int64_t from = rows * tile / tiles;
        const std::int64_t to = rows * (tile + 1) / tiles;
        t.a = scratch_ + r * layout_.sum + from * layout_.sum_row;
        t.next_b = reinterpret_cast<const char*>(following) + tile * t.next_b_step * depth_;
        for (int i = 0; i < targets.count; ++i) {
          const StrassenTerm& term = targets.terms[i];
          t.target[i] = finished + (term.row * rows + from) * t.target_row + term.column * width;
        }
        find_strassen_tile(to - from, vectors)(t);
      }
    }
  }

  /// Rows of C, as far as there are any: bias and epilogue.
  void finish(const Share& part, const float* from, std::int64_t from_row,
              std::int64_t column) const {
    const std::int64_t end = smaller(part.end, plan_.m);
    const std::int64_t columns = smaller(plan_.n - column, from_row);
    const std::int64_t rows_at_once = kBodyTileFloats / columns;
    for (std::int64_t row = part.begin; row < end; row += rows_at_once) {
      const std::int64_t rows = smaller(rows_at_once, end - row);
      float* c = args_.c + row * plan_.c_row + column;
      for (std::int64_t i = 0; i < rows; ++i, from += from_row) {
        add_bias(from, args_.bias == nullptr ? nullptr : args_.bias + column, columns,
                 c + i * plan_.c_row);
      }
      if (plan_.epilogue.empty()) continue;
      BodyOperand inputs[kBodyMaxInputs];
      inputs[0] = {c, plan_.c_row, 1};
      for (int i = 1; i < plan_.epilogue.input_count; ++i) {
        BodyOperand operand = plan_.extra_strides[i];
        operand.data = args_.extra[i];
        inputs[i] = operand.at(row, column);
      }
      run_body(plan_.epilogue, inputs, {c, plan_.c_row, rows, columns}, scratch_ + layout_.temps);
    }
  }

  /// to = from + bias; `bias` may be null.
  static void add_bias(const float* from, const float* bias, std::int64_t columns, float* to) {
    std::int64_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) {
      store(to + j, bias == nullptr ? load(from + j) : load(from + j) + load(bias + j));
    }
    if (j == columns) return;
    const int tail = static_cast<int>(columns - j);
    const Vec rest = load_first(from + j, tail);
    store_first(to + j, bias == nullptr ? rest : rest + load_first(bias + j, tail), tail);
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

/// What workers divide: columns into `columns` parts, rows of blocks into the others.
struct Grid {
  int columns;
  int rows;
};

/// The one whose largest part is the smallest; of equal ones, that which divides the larger of B
/// and A.
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
  const std::int64_t floats =
      find_layout(cut, plan).temps + strassen_block_depth(cut, plan.k);  // that many zeros
  return floats * static_cast<std::int64_t>(sizeof(float)) + plan.epilogue.scratch_bytes();
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
