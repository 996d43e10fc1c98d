// Attention goes page by page: scores of a page, their part of the softmax, their part of the sums.
// A line is one query head of one row. Lines keep the largest score so far and what they have
// summed in units of it; when a page has a larger one, the sums are scaled.
//
// Lines of neighbouring rows of one sequence that share a head of keys read each page together: a
// number of a page is loaded, and widened if it has 16 or 8 bits, once for all of them, as far as
// there are registers for their sums. A page that some of them see in part is read row by row, so
// nothing that a row does not see is ever multiplied, not even by 0.
#include "kernels/sequence/paged_attention.h"

#include "core/transpose_lanes.h"
#include "kernels/matrix/gemm_pack.h"
#include "kernels/matrix/gemm_tile.h"
#include "kernels/matrix/tile_table.h"
#include "kernels/sequence/page_numbers.h"

namespace sluice::cpu::SLUICE_CPU_ISA {

namespace {

constexpr std::int64_t kLines =
    8 * kTileRows;  ///< that read a page together, if more rows have so many
/// Up to here products of many places are summed together; for more lines keys are packed.
constexpr std::int64_t kFewLines = 5;
/// Lines whose sums with four keys fit in the registers.
constexpr int kLinesOfKeys = kVectorRegisters == 32 ? 5 : 3;
/// Numbers of each of four keys, between which numbers of the next page are fetched. More at once
/// would wait for themselves, fewer take more instructions than they save.
constexpr std::int64_t kSizeBetween = 32;
constexpr std::int64_t kNumbersBetween = 4 * kSizeBetween;
constexpr float kLog2E = 1.44269504F;

SLUICE_CPU_INLINE std::int64_t lines_per_row(const PagedPlan& plan) {
  return plan.heads / plan.kv_heads;
}

SLUICE_CPU_INLINE std::int64_t rows_together(const PagedPlan& plan) {
  const std::int64_t rows = kLines / lines_per_row(plan);
  return rows < 1 ? 1 : rows;
}

SLUICE_CPU_INLINE std::int64_t most_lines(const PagedPlan& plan) {
  return rows_together(plan) * lines_per_row(plan);
}

SLUICE_CPU_INLINE void set_b(TileArgs& args, const float* b) { args.b = b; }
SLUICE_CPU_INLINE void set_b(TileArgs& args, const Half* b) { args.narrow_b = b; }
SLUICE_CPU_INLINE void set_b(TileArgs& args, const Rounded* b) { args.narrow_b = b; }

/// Floats of the parts of the scratch.
struct Rooms {
  std::int64_t q, scores, sums, keys, scales, lines;
};

Rooms rooms(const PagedPlan& plan) {
  const std::int64_t lines = most_lines(plan);
  return {lines * plan.head_size,
          lines * panel_row(plan.places),
          lines * panel_row(plan.value_size),
          plan.head_size * panel_row(plan.places),
          panel_row(plan.places),
          lines};
}

/// Places that a row sees.
struct Sight {
  std::int64_t begin, end;
};

SLUICE_CPU_INLINE Sight sight_of(const PagedPlan& plan, const PagedArgs& args, std::int64_t row) {
  const std::int64_t end = args.positions[row] + 1;
  const std::int64_t begin = plan.window > 0 && end > plan.window ? end - plan.window : 0;
  return {begin, end};
}

/// C (+)= A B of lines and any number of columns: B in packed panels `panel` numbers apart, or in
/// rows of `b_row`, where panels are neighbours.
template <typename Number>
SLUICE_CPU_INLINE void multiply(TileArgs args, const Number* b, std::int64_t lines,
                                std::int64_t columns, std::int64_t panel, bool is_packed) {
  const float* a = args.a;
  float* c = args.c;
  for (std::int64_t i = 0; i < panel_count(columns); ++i) {
    set_b(args, b + i * panel);
    const std::int64_t width = panel_columns(columns, i);
    const int vectors = static_cast<int>((width + kLanes - 1) / kLanes);
    if (is_packed) args.b_row = panel_row(width);
    args.tail = static_cast<int>(width) - (vectors - 1) * kLanes;
    for (std::int64_t line = 0; line < lines; line += kTileRows) {
      args.a = a + line * args.a_row;
      args.c = c + line * args.c_row + i * kPanelWidth;
      find_tile<Number>(smaller(kTileRows, lines - line), vectors)(args);
    }
  }
}

/// The lanes of a, then of b, whose number is even or odd.
SLUICE_CPU_INLINE Vec every_other(Vec a, Vec b, int odd) {
  VecI order;
  SLUICE_CPU_UNROLL
  for (int i = 0; i < kLanes; ++i) order[i] = 2 * i + odd;
  return shuffle(a, b, order);
}

/// Sums of neighbours among the lanes of `kCount` vectors, a power of two: each vector has kLanes /
/// kCount sums, those of the first one come first.
template <int kCount>
SLUICE_CPU_INLINE Vec sum_lanes(const Vec* rows) {
  if constexpr (kCount == 1) {
    return rows[0];
  } else {
    const Vec a = sum_lanes<kCount / 2>(rows), b = sum_lanes<kCount / 2>(rows + kCount / 2);
    return every_other(a, b, 0) + every_other(a, b, 1);
  }
}

/// Products of lines with the keys of kLanes neighbours. Each key is loaded once. `between` is
/// called before kNumbersBetween numbers are.
template <int kCount, typename Number, typename Between>
SLUICE_CPU_INLINE void products(const float* q, const Number* keys, std::int64_t size,
                                float* scores, std::int64_t scores_row, const Between& between) {
  const std::int64_t row = size + kBehind<Number>;
  Vec parts[kCount][kLanes / 4];
  SLUICE_CPU_UNROLL
  for (int part = 0; part < kLanes / 4; ++part) {
    // The sums of a quarter's lanes are those of one key.
    Vec sums[kCount][4] = {};
    const Number* four = keys + 4 * part * row;
    std::int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      if (i % kSizeBetween == 0) between();
      SLUICE_CPU_UNROLL
      for (int j = 0; j < 4; ++j) {
        const Vec key = load(four + j * row + i);
        SLUICE_CPU_UNROLL
        for (int n = 0; n < kCount; ++n) {
          sums[n][j] = fmadd(load(q + n * size + i), key, sums[n][j]);
        }
      }
    }
    if (i < size) {
      const int left = static_cast<int>(size - i);
      SLUICE_CPU_UNROLL
      for (int j = 0; j < 4; ++j) {
        const Vec key = load_first(four + j * row + i, left);
        SLUICE_CPU_UNROLL
        for (int n = 0; n < kCount; ++n) {
          sums[n][j] = fmadd(load_first(q + n * size + i, left), key, sums[n][j]);
        }
      }
    }
    SLUICE_CPU_UNROLL
    for (int n = 0; n < kCount; ++n) parts[n][part] = sum_lanes<4>(sums[n]);
  }
  SLUICE_CPU_UNROLL
  for (int n = 0; n < kCount; ++n) {
    store(scores + n * scores_row, sum_lanes<kLanes / 4>(parts[n]));
  }
}

/// Products of `count` lines, at most kLinesOfKeys.
template <typename Number, typename Between>
SLUICE_CPU_INLINE void products_of(std::int64_t count, const float* q, const Number* keys,
                                   std::int64_t size, float* scores, std::int64_t row,
                                   const Between& between) {
  if (count == 1) return products<1>(q, keys, size, scores, row, between);
  if (count == 2) return products<2>(q, keys, size, scores, row, between);
  if constexpr (kLinesOfKeys > 3) {
    if (count == 4) return products<4>(q, keys, size, scores, row, between);
    if (count == 5) return products<5>(q, keys, size, scores, row, between);
  }
  products<3>(q, keys, size, scores, row, between);
}

/// With the key of one place.
template <typename Number>
SLUICE_CPU_INLINE float product(const float* q, const Number* key, std::int64_t size) {
  Vec sum{};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) sum = fmadd(load(q + i), load(key + i), sum);
  if (i < size) {
    const int left = static_cast<int>(size - i);
    sum = fmadd(load_first(q + i, left), load_first(key + i, left), sum);
  }
  return reduce_add(sum);
}

SLUICE_CPU_INLINE void scale_line(float* x, float factor, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(x + i, load(x + i) * broadcast(factor));
  for (; i < count; ++i) x[i] *= factor;
}

/// to += weight * from
template <typename Number>
SLUICE_CPU_INLINE void add_line(float* to, const Number* from, float weight, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    store(to + i, fmadd(broadcast(weight), load(from + i), load(to + i)));
  }
  if (i < count) {
    const int left = static_cast<int>(count - i);
    const Vec sum = fmadd(broadcast(weight), load_first(from + i, left), load_first(to + i, left));
    store_first(to + i, sum, left);
  }
}

/// Numbers that are fetched part by part. A page of a head is too short for the processor's own
/// prefetching, and pages lie apart.
template <typename Number>
struct Ahead {
  const Number* from = nullptr;
  std::int64_t left = 0;

  void fetch(std::int64_t count) {
    const Number* const end = from + smaller(count, left);
    left -= smaller(count, left);
    for (; from < end; from += kCacheLine / sizeof(Number)) prefetch_to_l2(from);
  }
};

/// Lines of one head of keys, of pages of Numbers, that one worker computes.
template <typename Number>
class Lines {
 public:
  Lines(const PagedPlan& plan, const PagedArgs& args, const Worker& worker)
      : plan_(plan),
        args_(args),
        all_keys_(static_cast<const Number*>(args.keys)),
        all_values_(static_cast<const Number*>(args.values)),
        key_row_(plan.head_size + kBehind<Number>),
        value_row_(plan.value_size + kBehind<Number>),
        q_(reinterpret_cast<float*>(worker.scratch)) {
    const Rooms r = rooms(plan);
    scores_ = q_ + r.q;
    sums_ = scores_ + r.scores;
    keys_ = sums_ + r.sums;
    scales_ = keys_ + r.keys;
    largest_ = scales_ + r.scales;
    weights_ = largest_ + r.lines;
  }

  /// Lines [begin, end) of the rows from `first_row` on, which are of one sequence.
  void run(std::int64_t first_row, std::int64_t kv_head, std::int64_t begin, std::int64_t end) {
    first_row_ = first_row;
    kv_head_ = kv_head;
    first_line_ = begin;
    count_ = end - begin;
    start();
    const Sight all = common_reach();
    end_ = all.end;
    look_ahead(all.begin / plan_.places);
    for (std::int64_t page = all.begin / plan_.places; page * plan_.places < all.end; ++page) {
      fetch_ahead(plan_.places * key_row_, plan_.places * value_row_);
      look_ahead(page + 1);
      read_page(page);
    }
    finish();
  }

 private:
  std::int64_t row_of(std::int64_t line) const {
    return first_row_ + (first_line_ + line) / lines_per_row(plan_);
  }
  /// Which head of queries, counted over all rows.
  std::int64_t head_of(std::int64_t line) const {
    const std::int64_t shared = (first_line_ + line) % lines_per_row(plan_);
    return row_of(line) * plan_.heads + kv_head_ * lines_per_row(plan_) + shared;
  }

  /// Queries in units that make the softmax a power of two.
  void start() {
    for (std::int64_t i = 0; i < count_; ++i) {
      float* q = q_ + i * plan_.head_size;
      __builtin_memcpy(q, args_.q + head_of(i) * plan_.head_size,
                       static_cast<std::size_t>(plan_.head_size) * sizeof(float));
      scale_line(q, plan_.scale * kLog2E, plan_.head_size);
      largest_[i] = -__builtin_inff();
      weights_[i] = 0;
    }
    const std::int64_t floats = count_ * panel_row(plan_.value_size);
    for (std::int64_t i = 0; i < floats; ++i) sums_[i] = 0;
  }

  /// From the first place that a line sees to behind the last one.
  Sight common_reach() const {
    Sight all = sight_of(plan_, args_, row_of(0));
    for (std::int64_t i = 0; i < count_; i += lines_left_of_row(i)) {
      const Sight sight = sight_of(plan_, args_, row_of(i));
      if (sight.begin < all.begin) all.begin = sight.begin;
      if (sight.end > all.end) all.end = sight.end;
    }
    return all;
  }

  /// Lines from `line` on that are of its row.
  std::int64_t lines_left_of_row(std::int64_t line) const {
    const std::int64_t left = lines_per_row(plan_) - (first_line_ + line) % lines_per_row(plan_);
    return smaller(left, count_ - line);
  }

  void read_page(std::int64_t block) {
    const std::int64_t first = block * plan_.places;
    const std::int64_t last = first + plan_.places;
    bool is_whole = true;
    for (std::int64_t i = 0; i < count_; i += lines_left_of_row(i)) {
      const Sight sight = sight_of(plan_, args_, row_of(i));
      is_whole = is_whole && sight.begin <= first && sight.end >= last;
    }
    if (is_whole) return read_places(block, 0, plan_.places, 0, count_);
    for (std::int64_t i = 0; i < count_; i += lines_left_of_row(i)) {
      const Sight sight = sight_of(plan_, args_, row_of(i));
      const std::int64_t begin = sight.begin > first ? sight.begin - first : 0;
      const std::int64_t end = smaller(sight.end - first, plan_.places);
      if (begin < end) read_places(block, begin, end, i, lines_left_of_row(i));
    }
  }

  /// The first place of the head's part of a page, among the places of all pages and heads.
  std::int64_t first_place(std::int64_t block) const {
    const std::int64_t page = args_.tables[args_.sequences[first_row_] * plan_.blocks + block];
    return (page * plan_.kv_heads + kv_head_) * plan_.places;
  }

  /// Places [begin, end) of a page, all of which `count` lines from `line` on see.
  void read_places(std::int64_t block, std::int64_t begin, std::int64_t end, std::int64_t line,
                   std::int64_t count) {
    const std::int64_t place = first_place(block) + begin;
    const std::int64_t places = end - begin;
    const Number* keys = all_keys_ + place * key_row_;
    const Number* values = all_values_ + place * value_row_;
    score(keys, places, line, count);
    scale_places(keys + plan_.head_size, key_row_, places, line, count);
    for (std::int64_t i = line; i < line + count; ++i) {
      if (plan_.cap > 0) cap(i, places);
      weigh(i, places);
    }
    scale_places(values + plan_.value_size, value_row_, places, line, count);
    sum(values, places, line, count);
  }

  /// What lines have for places is short of the scales of rounded rows, of which the first one's
  /// stands at `behind`: scores before the softmax, weights of values after it.
  void scale_places(const Number* behind, std::int64_t row, std::int64_t places, std::int64_t line,
                    std::int64_t count) const {
    if constexpr (kBehind < Number >> 0) {
      for (std::int64_t j = 0; j < places; ++j) scales_[j] = scale_at(behind + j * row);
      for (std::int64_t i = line; i < line + count; ++i) {
        float* of_line = scores_ + i * panel_row(plan_.places);
        for (std::int64_t j = 0; j < places; j += kLanes) {  // lines and scales end with a vector
          store(of_line + j, load(of_line + j) * load(scales_ + j));
        }
      }
    }
  }

  /// Notes where the page that is read next lies, if the lines see it.
  void look_ahead(std::int64_t block) {
    const std::int64_t places = smaller(plan_.places, end_ - block * plan_.places);
    if (places <= 0) return;
    const std::int64_t place = first_place(block);
    next_keys_ = {all_keys_ + place * key_row_, places * key_row_};
    next_values_ = {all_values_ + place * value_row_, places * value_row_};
  }
  void fetch_ahead(std::int64_t keys, std::int64_t values) {
    next_keys_.fetch(keys);
    next_values_.fetch(values);
  }

  void score(const Number* keys, std::int64_t places, std::int64_t line, std::int64_t count) {
    if (count <= kFewLines) {
      for (std::int64_t i = 0; i < count; i += kLinesOfKeys) {
        score_few(keys, places, line + i, smaller(kLinesOfKeys, count - i), count);
      }
      return;
    }
    const std::int64_t row = panel_row(plan_.places);
    const std::int64_t panel = plan_.head_size * kPanelWidth;
    for (std::int64_t i = 0; i < panel_count(places); ++i) {
      pack_columns(keys + i * kPanelWidth * key_row_, key_row_, plan_.head_size,
                   panel_columns(places, i), 1, keys_ + i * panel);
    }
    TileArgs args{};
    args.depth = plan_.head_size;
    args.a = q_ + line * plan_.head_size;
    args.a_row = plan_.head_size;
    args.a_step = 1;
    args.c = scores_ + line * row;
    args.c_row = row;
    multiply<float>(args, keys_, count, places, panel, true);
  }

  /// Scores `count` lines among `all` that read the page. The next page comes meanwhile.
  void score_few(const Number* keys, std::int64_t places, std::int64_t line, std::int64_t count,
                 std::int64_t all) {
    const std::int64_t size = plan_.head_size;
    const std::int64_t row = panel_row(plan_.places);
    const float* q = q_ + line * size;
    float* scores = scores_ + line * row;
    const std::int64_t ahead = kNumbersBetween * count / all;
    const std::int64_t values = ahead * plan_.value_size / size;
    std::int64_t j = 0;
    for (; j + kLanes <= places; j += kLanes) {
      products_of(count, q, keys + j * key_row_, size, scores + j, row,
                  [&] { fetch_ahead(ahead, values); });
    }
    for (; j < places; ++j) {
      for (std::int64_t i = 0; i < count; ++i) {
        scores[i * row + j] = product(q + i * size, keys + j * key_row_, size);
      }
    }
  }

  /// In the units of `start`.
  void cap(std::int64_t line, std::int64_t places) const {
    float* scores = scores_ + line * panel_row(plan_.places);
    const Vec most = broadcast(plan_.cap * kLog2E);
    const Vec unit = broadcast(1 / (plan_.cap * kLog2E));
    for (std::int64_t i = 0; i < places; i += kLanes) {
      const int left = static_cast<int>(smaller(kLanes, places - i));
      store_first(scores + i, tanh(load_first(scores + i, left) * unit) * most, left);
    }
  }

  /// Scores of a line become weights in units of the largest score so far.
  void weigh(std::int64_t line, std::int64_t places) const {
    float* scores = scores_ + line * panel_row(plan_.places);
    Vec top = broadcast(largest_[line]);
    std::int64_t i = 0;
    for (; i + kLanes <= places; i += kLanes) top = max(top, load(scores + i));
    float largest = reduce_max(top);
    for (std::int64_t j = i; j < places; ++j) {
      if (scores[j] > largest) largest = scores[j];
    }
    // All hidden by -infinity so far: weights of 0, not NaN. Others may follow.
    const Vec unit = broadcast(largest == -__builtin_inff() ? 0.0F : largest);
    Vec sum{};
    for (i = 0; i + kLanes <= places; i += kLanes) {
      const Vec e = exp2_below(load(scores + i) - unit);
      store(scores + i, e);
      sum += e;
    }
    if (i < places) {
      const int left = static_cast<int>(places - i);
      store_first(scores + i, exp2_below(load_first(scores + i, left) - unit), left);
      sum += load_first(scores + i, left);
    }
    if (largest > largest_[line]) {
      const float factor = exp2_below(broadcast(largest_[line]) - unit)[0];
      weights_[line] *= factor;
      scale_line(sums_ + line * panel_row(plan_.value_size), factor, plan_.value_size);
      largest_[line] = largest;
    }
    weights_[line] += reduce_add(sum);
  }

  void sum(const Number* values, std::int64_t places, std::int64_t line, std::int64_t count) const {
    const std::int64_t row = panel_row(plan_.value_size);
    if (plan_.value_size % kLanes != 0) {  // a tile reads whole vectors
      for (std::int64_t i = line; i < line + count; ++i) {
        for (std::int64_t j = 0; j < places; ++j) {
          add_line(sums_ + i * row, values + j * value_row_,
                   scores_[i * panel_row(plan_.places) + j], plan_.value_size);
        }
      }
      return;
    }
    TileArgs args{};
    args.depth = places;
    args.a = scores_ + line * panel_row(plan_.places);
    args.a_row = panel_row(plan_.places);
    args.a_step = 1;
    args.b_row = value_row_;
    args.c = sums_ + line * row;
    args.c_row = row;
    args.accumulate = true;
    multiply(args, values, count, plan_.value_size, kPanelWidth, false);
  }

  void finish() const {
    for (std::int64_t i = 0; i < count_; ++i) {
      float* out = args_.out + head_of(i) * plan_.value_size;
      __builtin_memcpy(out, sums_ + i * panel_row(plan_.value_size),
                       static_cast<std::size_t>(plan_.value_size) * sizeof(float));
      scale_line(out, 1.0F / weights_[i], plan_.value_size);
    }
  }

  const PagedPlan& plan_;
  const PagedArgs& args_;
  const Number* all_keys_;
  const Number* all_values_;
  std::int64_t key_row_, value_row_;  ///< from a place to the next, in numbers
  float* q_;                          ///< [lines][head_size]
  float* scores_;                     ///< [lines][panel_row(places)]
  float* sums_;                       ///< [lines][panel_row(value_size)]
  float* keys_;                       ///< panels of one page, in floats
  float* scales_;                     ///< [panel_row(places)], of rounded rows
  float* largest_;                    ///< score of each line so far
  float* weights_;                    ///< of each line, summed
  std::int64_t first_row_ = 0;
  std::int64_t kv_head_ = 0;
  std::int64_t first_line_ = 0;
  std::int64_t count_ = 0;
  std::int64_t end_ = 0;  ///< of what the lines see
  Ahead<Number> next_keys_, next_values_;
};

/// Rows from `row` on that are of one sequence and read pages together.
std::int64_t run_of(const PagedPlan& plan, const PagedArgs& args, std::int64_t row) {
  std::int64_t count = 1;
  while (count < rows_together(plan) && row + count < plan.rows &&
         args.sequences[row + count] == args.sequences[row]) {
    ++count;
  }
  return count;
}

template <typename Number>
void run_share(const PagedPlan& plan, const PagedArgs& args, const Worker& worker) {
  // The work of a line is the places that it sees. A worker computes the lines that begin in its
  // part of the sum of all.
  std::int64_t of_row = 0;
  for (std::int64_t row = 0; row < plan.rows; ++row) {
    const Sight sight = sight_of(plan, args, row);
    of_row += sight.end - sight.begin;
  }
  const std::int64_t all = of_row * plan.heads;
  const std::int64_t begin = all / worker.count * worker.index;
  const std::int64_t end = worker.index + 1 == worker.count ? all : begin + all / worker.count;
  const std::int64_t shared = lines_per_row(plan);
  Lines<Number> lines(plan, args, worker);
  std::int64_t done = 0;
  for (std::int64_t row = 0; row < plan.rows;) {
    const std::int64_t rows = run_of(plan, args, row);
    for (std::int64_t head = 0; head < plan.kv_heads; ++head) {
      std::int64_t first = rows * shared, last = 0;
      for (std::int64_t line = 0; line < rows * shared; ++line) {
        if (done >= begin && done < end) {
          first = smaller(first, line);
          last = line + 1;
        }
        const Sight sight = sight_of(plan, args, row + line / shared);
        done += sight.end - sight.begin;
      }
      if (first < last) lines.run(row, head, first, last);
    }
    row += rows;
  }
}

}  // namespace

std::int64_t paged_scratch_bytes(const PagedPlan& plan) {
  const Rooms r = rooms(plan);
  return (r.q + r.scores + r.sums + r.keys + r.scales + 2 * r.lines) *
         static_cast<std::int64_t>(sizeof(float));
}

void run_paged(const PagedPlan& plan, const PagedArgs& args, const Worker& worker) {
  if (plan.storage == Storage::kF16) return run_share<Half>(plan, args, worker);
  if (plan.storage == Storage::kI8) return run_share<Rounded>(plan, args, worker);
  run_share<float>(plan, args, worker);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
