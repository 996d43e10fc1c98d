#include "kernels/sequence/attention.h"

#include "kernels/matrix/gemm_pack.h"
#include "kernels/matrix/gemm_tile.h"
#include "kernels/matrix/tile_table.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

constexpr std::int64_t kScoreFloats = 16384;  ///< a tile of scores stays in the nearest caches
constexpr std::int64_t kMaxBlockRows = 8 * kTileRows;
static_assert(kMaxBlockRows <= kAttentionMostRows);
constexpr std::int64_t kFewQueries = 2;  ///< up to here keys are read in place, not packed

SLUICE_CPU_INLINE std::int64_t score_row(const AttentionPlan& plan) { return panel_row(plan.keys); }

std::int64_t block_rows(const AttentionPlan& plan) {
  if (plan.block_rows > 0) {
    return smaller(smaller(plan.block_rows, kAttentionMostRows), plan.queries);
  }
  const std::int64_t fitting = kScoreFloats / score_row(plan) / kTileRows * kTileRows;
  const std::int64_t rows = fitting < kTileRows ? kTileRows : smaller(fitting, kMaxBlockRows);
  return smaller(rows, plan.queries);
}

SLUICE_CPU_INLINE bool keys_in_place(const AttentionPlan& plan) {
  return plan.queries <= kFewQueries && plan.k.step == 1;
}

SLUICE_CPU_INLINE bool values_in_place(const AttentionPlan& plan) {
  return plan.value_size % kLanes == 0;
}

/// Floats of each part of the scratch.
struct Rooms {
  std::int64_t scores;
  std::int64_t keys;
  std::int64_t values;
};

Rooms rooms(const AttentionPlan& plan) {
  Rooms r;
  r.scores = block_rows(plan) * score_row(plan);
  r.keys = keys_in_place(plan) ? 0 : plan.head_size * score_row(plan);
  r.values = values_in_place(plan) ? 0 : plan.keys * panel_row(plan.value_size);
  return r;
}

/// One head of one batch item.
struct Head {
  const float* q;
  const float* k;
  const float* v;
  const float* mask;
  const std::uint8_t* keep;
  float* out;
};

Head find_head(const AttentionPlan& plan, const AttentionArgs& args, std::int64_t index) {
  const std::int64_t b = index / plan.heads;
  const std::int64_t h = index % plan.heads;
  const std::int64_t kv = h / (plan.heads / plan.kv_heads);
  return {args.q + b * plan.q.batch + h * plan.q.head,
          args.k + b * plan.k.batch + kv * plan.k.head,
          args.v + b * plan.v.batch + kv * plan.v.head,
          args.mask == nullptr ? nullptr : args.mask + b * plan.mask.batch + h * plan.mask.head,
          args.keep == nullptr ? nullptr : args.keep + b * plan.keep.batch + h * plan.keep.head,
          args.out + b * plan.out.batch + h * plan.out.head};
}

/// C = A * B for up to a few tiles of rows and any number of columns, B in packed panels of `depth`
/// rows or (panel_stride == kPanelWidth) in plain rows.
void multiply(const TileArgs& whole, std::int64_t rows, std::int64_t columns,
              std::int64_t panel_stride) {
  for (std::int64_t panel = 0; panel < panel_count(columns); ++panel) {
    const std::int64_t width = panel_columns(columns, panel);
    const int vectors = static_cast<int>((width + kLanes - 1) / kLanes);
    TileArgs args = whole;
    args.b += panel * panel_stride;
    if (panel_stride != kPanelWidth) args.b_row = panel_row(width);
    args.tail = static_cast<int>(width) - (vectors - 1) * kLanes;
    for (std::int64_t row = 0; row < rows; row += kTileRows) {
      args.a = whole.a + row * whole.a_row;
      args.c = whole.c + row * whole.c_row + panel * kPanelWidth;
      find_tile(smaller(kTileRows, rows - row), vectors)(args);
    }
  }
}

SLUICE_CPU_INLINE float dot(const float* a, const float* b, std::int64_t count) {
  Vec sum{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) sum = fmadd(load(a + i), load(b + i), sum);
  if (i < count) {
    const int left = static_cast<int>(count - i);
    sum = fmadd(load_first(a + i, left), load_first(b + i, left), sum);
  }
  return reduce_add(sum);
}

/// Scores become scale * score, or `hidden` where `keep` is 0.
void choose_row(float* scores, const std::uint8_t* keep, float scale, float hidden,
                std::int64_t count) {
  using Bools = std::uint8_t __attribute__((vector_size(kLanes)));
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Bools bools;
    __builtin_memcpy(&bools, keep + i, sizeof bools);
    const VecI is_kept = __builtin_convertvector(bools, VecI) != 0;
    store(scores + i, select(is_kept, load(scores + i) * broadcast(scale), broadcast(hidden)));
  }
  for (; i < count; ++i) scores[i] = keep[i] != 0 ? scores[i] * scale : hidden;
}

/// Scores become exp(scale * score + mask - the largest of these); returns their sum, which is NaN
/// if the softmax has no value: for a NaN, an infinity, or -infinity everywhere.
///
/// Computed as powers of two, in fewer steps. With kInTwos log2(e) is part of the scale. Otherwise
/// it multiplies the difference, because it would make the lowest numbers infinite.
template <bool kHasMask, bool kInTwos>
float exponentiate_row(float* scores, const float* mask, float scale, std::int64_t count) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kUnit = kInTwos ? 1.0F : kLog2E;
  const float factor = scale * (kInTwos ? kLog2E : 1.0F);
  const auto logits = [&](std::int64_t i) {
    const Vec scaled = load(scores + i) * broadcast(factor);
    return kHasMask ? scaled + load(mask + i) : scaled;
  };
  Vec top = broadcast(-__builtin_inff());
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) top = max(top, logits(i));
  float largest = reduce_max(top);
  const std::int64_t whole = i;
  for (; i < count; ++i) {
    scores[i] = scores[i] * factor + (kHasMask ? mask[i] : 0.0F);
    if (scores[i] > largest) largest = scores[i];
  }
  const auto exponentiated = [&](Vec logit) {
    return exp2_below((logit - broadcast(largest)) * broadcast(kUnit));
  };
  Vec sum{};
  for (i = 0; i < whole; i += kLanes) {
    const Vec e = exponentiated(logits(i));
    store(scores + i, e);
    sum += e;
  }
  if (whole < count) {
    const int left = static_cast<int>(count - whole);
    store_first(scores + whole, exponentiated(load_first(scores + whole, left)), left);
    sum += load_first(scores + whole, left);
  }
  return reduce_add(sum);
}

/// What a query sees: its row of the mask and of `keep`, maybe null.
struct Sight {
  const float* mask;
  const std::uint8_t* keep;
  std::int64_t keys;

  /// Whether all keys are hidden by -infinity.
  bool sees_nothing(float hidden) const {
    const float never = -__builtin_inff();
    for (std::int64_t i = 0; i < keys; ++i) {
      const bool is_hidden = (mask != nullptr && mask[i] == never) ||
                             (keep != nullptr && keep[i] == 0 && hidden == never);
      if (!is_hidden) return false;
    }
    return true;
  }
};

/// Scores become weights times the number that is returned, 1 over their sum.
float weigh_row(const AttentionPlan& plan, const Sight& sight, float* scores) {
  float scale = plan.scale;
  if (sight.keep != nullptr) {
    choose_row(scores, sight.keep, scale, plan.hidden, sight.keys);
    scale = 1;
  }
  const auto exponentiate = sight.mask != nullptr   ? exponentiate_row<true, false>
                            : sight.keep != nullptr ? exponentiate_row<false, false>
                                                    : exponentiate_row<false, true>;
  const float sum = exponentiate(scores, sight.mask, scale, sight.keys);
  if (sum == sum || plan.zero_rows == ZeroRows::kNone) return 1.0f / sum;
  if (plan.zero_rows == ZeroRows::kHidden && !sight.sees_nothing(plan.hidden)) return 1.0f / sum;
  for (std::int64_t i = 0; i < sight.keys; ++i) scores[i] = 0;
  return 1;
}

SLUICE_CPU_INLINE void scale_row(float* x, float factor, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(x + i, load(x + i) * broadcast(factor));
  for (; i < count; ++i) x[i] *= factor;
}

/// One worker's tile of scores, with keys and values of the head that it entered last:
///
///     scores_ [block of queries][score_row]
///     keys_   [panels][head_size][panel]    unless the keys are read in place
///     values_ [keys][panel_row]             unless the values are read in place
class Attention {
 public:
  Attention(const AttentionPlan& plan, const Worker& worker)
      : plan_(plan), scores_(reinterpret_cast<float*>(worker.scratch)) {
    const Rooms r = rooms(plan);
    keys_ = scores_ + r.scores;
    values_ = keys_ + r.keys;
  }

  /// Brings keys and values of a head into the form the tiles read.
  void enter(const Head& head) const {
    if (!keys_in_place(plan_)) {
      for (std::int64_t panel = 0; panel < panel_count(plan_.keys); ++panel) {
        const float* from = head.k + panel * kPanelWidth * plan_.k.row;
        float* to = keys_ + panel * kPanelWidth * plan_.head_size;
        const std::int64_t columns = panel_columns(plan_.keys, panel);
        if (plan_.k.step == 1) {
          pack_columns(from, plan_.k.row, plan_.head_size, columns, 1, to);
        } else {
          pack_rows(from, plan_.k.step, plan_.head_size, columns, 1, to);
        }
      }
    }
    if (!values_in_place(plan_)) {
      const std::int64_t row = panel_row(plan_.value_size);
      for (std::int64_t i = 0; i < plan_.keys; ++i) {
        for (std::int64_t j = 0; j < row; ++j) {
          values_[i * row + j] = j < plan_.value_size ? head.v[i * plan_.v.row + j] : 0;
        }
      }
    }
  }

  void run_block(const Head& head, std::int64_t begin, std::int64_t end) const {
    // The last query of a causal block sees the most keys. Rows above it have zeros behind theirs.
    const std::int64_t visible = visible_keys(end - 1);
    score(head, begin, end, visible);
    float inverse_sums[kAttentionMostRows];
    for (std::int64_t i = begin; i < end; ++i) {
      float* row = scores_ + (i - begin) * score_row(plan_);
      const Sight sight = {head.mask == nullptr ? nullptr : head.mask + i * plan_.mask.row,
                           head.keep == nullptr ? nullptr : head.keep + i * plan_.keep.row,
                           visible_keys(i)};
      inverse_sums[i - begin] = weigh_row(plan_, sight, row);
      for (std::int64_t j = sight.keys; j < visible; ++j) row[j] = 0;
    }
    TileArgs args{};
    args.depth = visible;
    args.a = scores_;
    args.a_row = score_row(plan_);
    args.a_step = 1;
    args.b = values_in_place(plan_) ? head.v : values_;
    args.b_row = values_in_place(plan_) ? plan_.v.row : panel_row(plan_.value_size);
    args.c = head.out + begin * plan_.out.row;
    args.c_row = plan_.out.row;
    multiply(args, end - begin, plan_.value_size, kPanelWidth);
    // The sum divides the results of a query, which are fewer than its scores.
    for (std::int64_t i = begin; i < end; ++i) {
      scale_row(head.out + i * plan_.out.row, inverse_sums[i - begin], plan_.value_size);
    }
  }

 private:
  std::int64_t visible_keys(std::int64_t query) const {
    return plan_.causal ? smaller(plan_.keys, query + plan_.past + 1) : plan_.keys;
  }

  void score(const Head& head, std::int64_t begin, std::int64_t end, std::int64_t visible) const {
    if (keys_in_place(plan_)) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (std::int64_t j = 0; j < visible; ++j) {
          scores_[(i - begin) * score_row(plan_) + j] =
              dot(head.q + i * plan_.q.row, head.k + j * plan_.k.row, plan_.head_size);
        }
      }
      return;
    }
    TileArgs args{};
    args.depth = plan_.head_size;
    args.a = head.q + begin * plan_.q.row;
    args.a_row = plan_.q.row;
    args.a_step = plan_.q.step;
    args.b = keys_;
    args.c = scores_;
    args.c_row = score_row(plan_);
    const std::int64_t panels = panel_count(visible);
    multiply(args, end - begin, smaller(panels * kPanelWidth, plan_.keys),
             kPanelWidth * plan_.head_size);
  }

  const AttentionPlan& plan_;
  float* scores_;
  float* keys_;
  float* values_;
};

}  // namespace

std::int64_t attention_scratch_bytes(const AttentionPlan& plan) {
  const Rooms r = rooms(plan);
  return (r.scores + r.keys + r.values) * static_cast<std::int64_t>(sizeof(float));
}

void run_attention(const AttentionPlan& plan, const AttentionArgs& args, const Worker& worker) {
  const std::int64_t rows = block_rows(plan);
  if (rows == 0) return;
  const std::int64_t blocks = (plan.queries + rows - 1) / rows;
  const Share share = share_of(plan.batch * plan.heads * blocks, 1, worker);
  const Attention attention(plan, worker);
  // Blocks of one head are neighbours in a share, so a head is entered once.
  std::int64_t entered = -1;
  for (std::int64_t i = share.begin; i < share.end; ++i) {
    const std::int64_t index = i / blocks;
    const Head head = find_head(plan, args, index);
    if (index != entered) attention.enter(head);
    entered = index;
    const std::int64_t begin = i % blocks * rows;
    attention.run_block(head, begin, smaller(begin + rows, plan.queries));
  }
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
