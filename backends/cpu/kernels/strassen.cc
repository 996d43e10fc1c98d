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

/// Scratch of a worker, in floats: sums of blocks of A, C of one group, epilogue.
struct Layout {
  std::int64_t sum_row;   ///< from one row of a sum to the next
  std::int64_t sum;       ///< from one sum to the next
  std::int64_t finished;  ///< where C begins
  std::int64_t temps;     ///< where the epilogue's temporaries do
};

Layout find_layout(const StrassenCut& cut, const GemmPlan& plan) {
  const std::int64_t depth = strassen_block_depth(cut, plan.k);
  const std::int64_t rows = chunk_rows(cut, plan);
  // Rows, and sums, a multiple of 4 KB apart would share a few sets of the nearest cache.
  const std::int64_t row = depth % 256 == 0 ? depth + 16 : depth;
  const std::int64_t sum = rows * row % 256 == 0 ? rows * row + 48 : rows * row;
  const std::int64_t finished = strassen_products(cut.levels) * sum;
  const std::int64_t c = rows * kStrassenVectors * kLanes << 2 * cut.levels;
  return {row, sum, finished, finished + c};
}

/// One row of every sum of blocks, from rows of A that begin at `rows`.
template <int kLevels>
SLUICE_CPU_INLINE void sum_row(const float* const (&rows)[1 << kLevels], std::int64_t depth,
                               std::int64_t sum_floats, float* to) {
  for (std::int64_t p = 0; p < depth; p += kLanes) {
    Vec outer[4][7];  // of each block of the inner level
    if constexpr (kLevels == 2) {
      SLUICE_CPU_UNROLL
      for (int inner = 0; inner < 4; ++inner) {
        Vec blocks[4];
        SLUICE_CPU_UNROLL
        for (int q = 0; q < 4; ++q) {
          blocks[q] = load(rows[q / 2 * 2 + inner / 2] + (q % 2 * 2 + inner % 2) * depth + p);
        }
        sum_blocks_of_a(blocks, outer[inner]);
      }
    } else {
      SLUICE_CPU_UNROLL
      for (int q = 0; q < 4; ++q) outer[q][0] = load(rows[q / 2] + q % 2 * depth + p);
    }
    SLUICE_CPU_UNROLL
    for (int r = 0; r < (kLevels == 2 ? 7 : 1); ++r) {
      const Vec blocks[4] = {outer[0][r], outer[1][r], outer[2][r], outer[3][r]};
      Vec sums[7];
      sum_blocks_of_a(blocks, sums);
      SLUICE_CPU_UNROLL
      for (int s = 0; s < 7; ++s) store(to + (r * 7 + s) * sum_floats + p, sums[s]);
    }
  }
}

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
    const std::int64_t count = rows.end - rows.begin;
    const std::int64_t most = chunk_rows(cut_, plan_);
    const std::int64_t chunks = (count + most - 1) / most;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const Share part{rows.begin + count * chunk / chunks,
                       rows.begin + count * (chunk + 1) / chunks};
      for (std::int64_t s = 0; s < cut_.stretches; ++s) {
        sum_blocks(part, s);
        for (std::int64_t g = groups.begin; g < groups.end; ++g) run_group(part, s, g);
      }
    }
  }

 private:
  static constexpr int kBlocks = StrassenTable<kLevels>::kBlocks;
  static constexpr int kProducts = StrassenTable<kLevels>::kProducts;

  /// Rows beyond the last of A, of the last blocks, count as zeros.
  void sum_blocks(const Share& part, std::int64_t stretch) const {
    float* zeros = scratch_ + layout_.finished;
    if (part.end + (kBlocks - 1) * block_rows_ > plan_.m) {
      for (std::int64_t p = 0; p < depth_ * kBlocks; p += kLanes) store(zeros + p, Vec{});
    }
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const float* rows[kBlocks];
      for (int q = 0; q < kBlocks; ++q) {
        const std::int64_t row = q * block_rows_ + i;
        rows[q] = row < plan_.m ? args_.a + row * plan_.a_row + stretch * depth_ * kBlocks : zeros;
      }
      sum_row<kLevels>(rows, depth_, layout_.sum, scratch_ + (i - part.begin) * layout_.sum_row);
    }
  }

  void run_group(const Share& part, std::int64_t stretch, std::int64_t group) const {
    const int vectors = groups_.panel_vectors(group);
    const std::int64_t width = std::int64_t{vectors} * kLanes;
    const std::int64_t rows = part.end - part.begin;
    const std::int64_t tiles = (rows + kStrassenRows - 1) / kStrassenRows;
    const float* panel = args_.b + strassen_panels_at(cut_, groups_, depth_, stretch, group);
    float* finished = scratch_ + layout_.finished;
    constexpr std::int64_t kFloat = sizeof(float);
    StrassenTileArgs t;
    t.depth = depth_;
    t.a_row = layout_.sum_row;
    t.target_row = kBlocks * width;
    t.next_b_step = (width * kFloat + tiles - 1) / tiles;
    for (int r = 0; r < kProducts; ++r, panel += depth_ * width) {
      const StrassenSum& targets = kStrassenTable<kLevels>.c[r];
      t.b = panel;
      t.count = targets.count;
      for (int i = 0; i < targets.count; ++i) {
        t.sign[i] = targets.terms[i].sign;
        t.is_first[i] = targets.terms[i].is_first;
      }
      for (std::int64_t tile = 0; tile < tiles; ++tile) {
        const std::int64_t from = rows * tile / tiles;
        const std::int64_t to = rows * (tile + 1) / tiles;
        t.a = scratch_ + r * layout_.sum + from * layout_.sum_row;
        t.next_a = reinterpret_cast<const char*>(t.a + layout_.sum);
        t.next_a_step = (to - from) * kFloat;
        t.next_b =
            reinterpret_cast<const char*>(panel + depth_ * width) + tile * t.next_b_step * depth_;
        for (int i = 0; i < targets.count; ++i) {
          const StrassenTerm& term = targets.terms[i];
          t.target[i] = finished + (term.row * rows + from) * t.target_row + term.column * width;
        }
        find_strassen_tile(to - from, vectors)(t);
      }
    }
    for (int q = 0; q < kBlocks; ++q) {
      finish({q * block_rows_ + part.begin, q * block_rows_ + part.end},
             finished + q * rows * t.target_row, t.target_row, stretch,
             groups_.first_column(group));
    }
  }

  /// Rows of C, as far as there are any: bias before the first stretch, epilogue after the last.
  void finish(const Share& part, const float* from, std::int64_t from_row, std::int64_t stretch,
              std::int64_t column) const {
    const std::int64_t end = smaller(part.end, plan_.m);
    const std::int64_t columns = smaller(plan_.n - column, from_row);
    const std::int64_t rows_at_once = kBodyTileFloats / columns;
    for (std::int64_t row = part.begin; row < end; row += rows_at_once) {
      const std::int64_t rows = smaller(rows_at_once, end - row);
      float* c = args_.c + row * plan_.c_row + column;
      for (std::int64_t i = 0; i < rows; ++i, from += from_row) {
        float* to = c + i * plan_.c_row;
        const float* bias = args_.bias == nullptr ? nullptr : args_.bias + column;
        add_row(from, stretch == 0 ? bias : to, columns, to);
      }
      if (plan_.epilogue.empty() || stretch + 1 < cut_.stretches) continue;
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

  /// to = from + other; `other` may be null.
  static void add_row(const float* from, const float* other, std::int64_t columns, float* to) {
    std::int64_t j = 0;
    for (; j + kLanes <= columns; j += kLanes) {
      store(to + j, other == nullptr ? load(from + j) : load(from + j) + load(other + j));
    }
    if (j == columns) return;
    const int tail = static_cast<int>(columns - j);
    const Vec rest = load_first(from + j, tail);
    store_first(to + j, other == nullptr ? rest : rest + load_first(other + j, tail), tail);
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

/// The one whose largest part is the smallest; of equal ones, with the most rows to a part.
Grid find_grid(std::int64_t groups, std::int64_t tiles, int workers) {
  Grid best = {1, workers};
  std::int64_t best_part = INT64_MAX;
  for (int columns = 1; columns <= workers; ++columns) {
    if (workers % columns != 0) continue;
    const int rows = workers / columns;
    const std::int64_t part = ((groups + columns - 1) / columns) * ((tiles + rows - 1) / rows);
    if (part <= best_part) {
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
  const Grid grid = find_grid(groups, tiles, worker.count);
  const Share columns_share =
      share_of(groups, 1, {worker.index % grid.columns, grid.columns, nullptr});
  const Share tiles_share = share_of(tiles, 1, {worker.index / grid.columns, grid.rows, nullptr});
  StrassenProduct<kLevels>(cut, plan, args, worker)
      .run({rows * tiles_share.begin / tiles, rows * tiles_share.end / tiles}, columns_share);
}

}  // namespace

std::int64_t strassen_scratch_bytes(const StrassenCut& cut, const GemmPlan& plan) {
  const Layout layout = find_layout(cut, plan);
  const std::int64_t zeros = layout.finished + (strassen_block_depth(cut, plan.k) << cut.levels);
  const std::int64_t floats = zeros > layout.temps ? zeros : layout.temps;
  return floats * static_cast<std::int64_t>(sizeof(float)) + plan.epilogue.scratch_bytes();
}

void run_strassen(const StrassenCut& cut, const GemmPlan& plan, const GemmArgs& args,
                  const Worker& worker) {
  if (plan.m == 0 || plan.n == 0) return;
  if (cut.levels == 1) {
    run<1>(cut, plan, args, worker);
  } else {
    run<2>(cut, plan, args, worker);
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
