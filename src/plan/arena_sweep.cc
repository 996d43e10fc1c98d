#include "plan/arena_sweep.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

#include "base/checked.h"
#include "base/log/work_counts.h"

namespace sluice::plan {
namespace {

/// Free bytes below the top of an arena that grows where no gap is large enough.
class FreeBytes {
 public:
  /// The offset; nullopt if the arena would pass `max_bytes`.
  std::optional<std::int64_t> take(std::int64_t size, std::int64_t max_bytes) {
    const auto tightest = by_size_.lower_bound({size, 0});
    if (tightest != by_size_.end()) {
      const auto [gap, begin] = *tightest;
      erase(gaps_.find(begin));
      if (gap > size) add(begin + size, gap - size);
      return begin;
    }
    std::int64_t begin = top_;
    const auto last = gaps_.empty() ? gaps_.end() : std::prev(gaps_.end());
    const bool is_at_top = last != gaps_.end() && last->first + last->second == top_;
    if (is_at_top) begin = last->first;
    const auto end = checked_add(begin, size);
    if (!end || *end > max_bytes) return std::nullopt;
    if (is_at_top) erase(last);
    top_ = *end;
    return begin;
  }

  void give_back(std::int64_t begin, std::int64_t size) {
    auto next = gaps_.lower_bound(begin);
    if (next != gaps_.end() && begin + size == next->first) {
      size += next->second;
      next = erase(next);
    }
    if (next != gaps_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == begin) {
        begin = previous->first;
        size += previous->second;
        erase(previous);
      }
    }
    add(begin, size);
  }

  std::int64_t top() const { return top_; }

 private:
  using Gaps = std::map<std::int64_t, std::int64_t>;  // size by begin

  void add(std::int64_t begin, std::int64_t size) {
    gaps_.emplace(begin, size);
    by_size_.emplace(size, begin);
  }
  Gaps::iterator erase(Gaps::iterator gap) {
    by_size_.erase({gap->second, gap->first});
    return gaps_.erase(gap);
  }

  Gaps gaps_;  // no two of them touch
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
  std::int64_t top_ = 0;
};

/// Pieces by first step, and the living by last step.
class Sweep {
 public:
  explicit Sweep(std::span<const Lifetime> lifetimes) : lifetimes_(lifetimes) {
    order_.resize(lifetimes.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, [&](std::size_t a, std::size_t b) {
      const Lifetime& x = lifetimes[a];
      const Lifetime& y = lifetimes[b];
      if (x.first_step != y.first_step) return x.first_step < y.first_step;
      return x.size_bytes > y.size_bytes;
    });
  }

  std::span<const std::size_t> order() const { return order_; }
  void start(std::size_t piece) { alive_.emplace(lifetimes_[piece].last_step, piece); }

  /// Calls `end` on the living whose last step precedes the first of `piece`.
  template <typename End>
  void end_before(std::size_t piece, const End& end) {
    while (!alive_.empty() && alive_.top().first < lifetimes_[piece].first_step) {
      ++work_counts.visits;
      end(alive_.top().second);
      alive_.pop();
    }
  }

 private:
  using Ending = std::pair<std::int32_t, std::size_t>;
  std::span<const Lifetime> lifetimes_;
  std::vector<std::size_t> order_;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> alive_;
};

}  // namespace

Result<ArenaLayout> sweep_arena(const PackRequest& request) {
  ArenaLayout layout;
  layout.offset_bytes.assign(request.lifetimes.size(), 0);
  std::vector<std::int64_t> padded(request.lifetimes.size());
  FreeBytes free;
  Sweep sweep(request.lifetimes);
  for (const std::size_t piece : sweep.order()) {
    ++work_counts.visits;
    const auto size = checked_align(request.lifetimes[piece].size_bytes, request.alignment_bytes);
    if (!size) return make_error(Code::kResourceExhausted, "a tensor passes 64 bits of bytes");
    if (*size == 0) continue;
    sweep.end_before(piece, [&](std::size_t ended) {
      free.give_back(layout.offset_bytes[ended], padded[ended]);
    });
    const auto offset = free.take(*size, request.max_bytes);
    if (!offset) return arena_too_large(request);
    layout.offset_bytes[piece] = *offset;
    padded[piece] = *size;
    sweep.start(piece);
  }
  layout.arena_bytes = free.top();
  return layout;
}

std::optional<std::size_t> find_misplaced(const PackRequest& request, const ArenaLayout& layout) {
  std::map<std::int64_t, std::int64_t> living;  // end by begin
  Sweep sweep(request.lifetimes);
  for (const std::size_t piece : sweep.order()) {
    ++work_counts.visits;
    const std::int64_t begin = layout.offset_bytes[piece];
    const std::int64_t size = request.lifetimes[piece].size_bytes;
    if (size == 0) continue;
    const auto end = checked_add(begin, size);
    const bool is_inside =
        begin >= 0 && begin % request.alignment_bytes == 0 && end && *end <= layout.arena_bytes;
    if (!is_inside) return piece;
    sweep.end_before(piece, [&](std::size_t ended) { living.erase(layout.offset_bytes[ended]); });
    const auto next = living.lower_bound(begin);
    if (next != living.end() && next->first < *end) return piece;
    if (next != living.begin() && std::prev(next)->second > begin) return piece;
    living.emplace(begin, *end);
    sweep.start(piece);
  }
  return std::nullopt;
}

}  // namespace sluice::plan
