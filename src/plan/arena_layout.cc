#include "plan/arena_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checked.h"

namespace sluice::plan {
namespace {

bool overlap_in_time(const Lifetime& a, const Lifetime& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

Status check_lifetimes(std::span<const Lifetime> lifetimes) {
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const Lifetime& lifetime = lifetimes[i];
    if (lifetime.size_bytes < 0) return invalid_argument("lifetime {} has a negative size", i);
    if (lifetime.last_step < lifetime.first_step) {
      return invalid_argument("lifetime {} ends at step {}, before it starts at step {}", i,
                              lifetime.last_step, lifetime.first_step);
    }
  }
  return ok_status();
}

struct Placed {
  std::int64_t begin;
  std::int64_t end;
};

/// Start of the tightest gap between `busy` pieces (sorted by begin) that holds `size_bytes`, or
/// the end of the last one.
std::int64_t find_gap(std::span<const Placed> busy, std::int64_t size_bytes) {
  std::int64_t best = -1;
  std::int64_t best_waste = std::numeric_limits<std::int64_t>::max();
  std::int64_t cursor = 0;
  for (const Placed& piece : busy) {
    const std::int64_t gap = piece.begin - cursor;
    if (gap >= size_bytes && gap - size_bytes < best_waste) {
      best = cursor;
      best_waste = gap - size_bytes;
    }
    cursor = std::max(cursor, piece.end);
  }
  return best >= 0 ? best : cursor;
}

/// Stable, so that equal sizes keep the order of the graph and the layout is reproducible.
std::vector<std::size_t> largest_first(std::span<const Lifetime> lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return lifetimes[a].size_bytes > lifetimes[b].size_bytes;
  });
  return order;
}

}  // namespace

Result<ArenaLayout> pack_arena(std::span<const Lifetime> lifetimes, std::int64_t alignment_bytes,
                               std::int64_t limit_bytes) {
  SLUICE_TRY(check_lifetimes(lifetimes));
  ArenaLayout layout;
  layout.offset_bytes.assign(lifetimes.size(), 0);
  std::vector<std::size_t> placed;
  // Pieces in use at the same time as the current one. Two of them may share bytes if they are not
  // alive in the same step, hence the running maximum in find_gap.
  std::vector<Placed> busy;
  for (const std::size_t i : largest_first(lifetimes)) {
    const auto size = checked_align(lifetimes[i].size_bytes, alignment_bytes);
    if (!size) return make_error(Code::kResourceExhausted, "a tensor passes 64 bits of bytes");
    if (*size == 0) continue;
    busy.clear();
    for (const std::size_t other : placed) {
      if (!overlap_in_time(lifetimes[i], lifetimes[other])) continue;
      const std::int64_t begin = layout.offset_bytes[other];
      busy.push_back({begin, begin + *checked_align(lifetimes[other].size_bytes, alignment_bytes)});
    }
    std::sort(busy.begin(), busy.end(),
              [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
    const std::int64_t offset = find_gap(busy, *size);
    const auto end = checked_add(offset, *size);
    if (!end || *end > limit_bytes) {
      return make_error(Code::kResourceExhausted,
                        "intermediate tensors need more than the {} bytes allowed", limit_bytes);
    }
    layout.offset_bytes[i] = offset;
    layout.arena_bytes = std::max(layout.arena_bytes, *end);
    placed.push_back(i);
  }
  return layout;
}

// Quadratic on purpose: a package is untrusted, so this check must not share code or assumptions
// with pack_arena, and the number of lifetimes is that of a graph's operands.
Status check_arena(std::span<const Lifetime> lifetimes, const ArenaLayout& layout,
                   std::int64_t alignment_bytes) {
  const auto bad = [](std::size_t i) {
    return make_error(Code::kDataLoss, "the memory plan misplaces tensor {}", i);
  };
  if (layout.offset_bytes.size() != lifetimes.size()) {
    return make_error(Code::kDataLoss, "the memory plan covers {} tensors, the graph has {}",
                      layout.offset_bytes.size(), lifetimes.size());
  }
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const std::int64_t begin = layout.offset_bytes[i];
    if (lifetimes[i].size_bytes == 0) continue;
    const auto end = checked_add(begin, lifetimes[i].size_bytes);
    if (begin < 0 || begin % alignment_bytes != 0 || !end || *end > layout.arena_bytes) {
      return bad(i);
    }
    for (std::size_t j = 0; j < i; ++j) {
      const std::int64_t other = layout.offset_bytes[j];
      const bool apart = *end <= other || other + lifetimes[j].size_bytes <= begin;
      if (overlap_in_time(lifetimes[i], lifetimes[j]) && lifetimes[j].size_bytes > 0 && !apart) {
        return bad(i);
      }
    }
  }
  return ok_status();
}

}  // namespace sluice::plan
