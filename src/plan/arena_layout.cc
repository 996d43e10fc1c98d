#include "plan/arena_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "base/checked.h"

namespace sluice::plan {
namespace {

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

/// A layout within this part of the lower bound ends the search: planning also happens in runs of
/// new shapes, and takes time that is quadratic in the number of tensors.
constexpr std::int64_t kGoodEnough = 50;
/// Rounds of the search for a better order. Many pieces get fewer rounds: the search takes some
/// milliseconds at most.
constexpr std::size_t kMaxRounds = 100;
constexpr std::size_t kMaxPairs = 8'000'000;

struct Placed {
  std::int64_t begin;
  std::int64_t end;
};

/// Start of a gap between `busy` pieces (sorted by begin) that holds `size_bytes`, or the end of
/// the last piece.
std::int64_t find_gap(std::span<const Placed> busy, std::int64_t size_bytes, Packer packer) {
  std::int64_t best = -1;
  std::int64_t best_waste = std::numeric_limits<std::int64_t>::max();
  std::int64_t cursor = 0;
  for (const Placed& piece : busy) {
    const std::int64_t gap = piece.begin - cursor;
    if (gap >= size_bytes && gap - size_bytes < best_waste) {
      best = cursor;
      best_waste = gap - size_bytes;
      if (packer == Packer::kFirstFit || packer == Packer::kColouring) break;
    }
    cursor = std::max(cursor, piece.end);
  }
  return best >= 0 ? best : cursor;
}

/// Stable, so that equal pieces keep the order of the graph and the layout is reproducible.
std::vector<std::size_t> order_of(std::span<const Lifetime> lifetimes, Packer packer) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const Lifetime& x = lifetimes[a];
    const Lifetime& y = lifetimes[b];
    if (packer == Packer::kBump) return false;
    if (packer == Packer::kColouring && x.first_step != y.first_step) {
      return x.first_step < y.first_step;
    }
    const auto length = [](const Lifetime& l) { return l.last_step - l.first_step; };
    if (packer == Packer::kLongestFirst && length(x) != length(y)) return length(x) > length(y);
    return x.size_bytes > y.size_bytes;
  });
  return order;
}

class ArenaPacker {
 public:
  ArenaPacker(const PackRequest& request, Packer packer)
      : request_(request), packer_(packer), by_steps_(request.lifetimes) {}

  Result<ArenaLayout> run(std::span<const std::size_t> order) {
    layout_.offset_bytes.assign(request_.lifetimes.size(), 0);
    for (const std::size_t i : order) SLUICE_TRY(place(i));
    return std::move(layout_);
  }

 private:
  Status place(std::size_t i) {
    const auto size = checked_align(request_.lifetimes[i].size_bytes, request_.alignment_bytes);
    if (!size) return make_error(Code::kResourceExhausted, "a tensor passes 64 bits of bytes");
    if (*size == 0) return ok_status();
    const std::int64_t offset =
        packer_ == Packer::kBump ? layout_.arena_bytes : find_gap(busy_with(i), *size, packer_);
    const auto end = checked_add(offset, *size);
    if (!end || *end > request_.max_bytes) {
      return make_error(Code::kResourceExhausted,
                        "intermediate tensors need more than the {} bytes allowed",
                        request_.max_bytes);
    }
    layout_.offset_bytes[i] = offset;
    layout_.arena_bytes = std::max(layout_.arena_bytes, *end);
    placed_.push_back({i, {offset, *end}});
    return ok_status();
  }

  /// Pieces placed so far that piece `i` may not overlap. Two of them may share bytes, hence the
  /// running maximum in find_gap.
  std::span<const Placed> busy_with(std::size_t i) {
    const Conflicts& conflicts = request_.conflicts != nullptr ? *request_.conflicts : by_steps_;
    busy_.clear();
    for (const auto& [other, bytes] : placed_) {
      if (conflicts.are_in_conflict(i, other)) busy_.push_back(bytes);
    }
    std::ranges::sort(busy_, {}, &Placed::begin);
    return busy_;
  }

  const PackRequest& request_;
  Packer packer_;
  Conflicts by_steps_;
  ArenaLayout layout_;
  std::vector<std::pair<std::size_t, Placed>> placed_;
  std::vector<Placed> busy_;
};

/// Hill climbing on the order of pieces: one of those in conflict with the highest piece, or that
/// one itself, moves to the first quarter of the order. Deterministic.
class OrderSearch {
 public:
  OrderSearch(const PackRequest& request, ArenaLayout layout, std::vector<std::size_t> order)
      : request_(request),
        by_steps_(request.lifetimes),
        layout_(std::move(layout)),
        order_(std::move(order)) {}

  const ArenaLayout& layout() const { return layout_; }

  void run_round() {
    std::vector<std::size_t> order = order_;
    const std::size_t moved = pick_moved();
    const auto target = static_cast<std::ptrdiff_t>(random_() % (order.size() / 4 + 1));
    order.erase(std::ranges::find(order, moved));
    order.insert(order.begin() + target, moved);
    auto layout = ArenaPacker(request_, Packer::kBestFit).run(order);
    if (!layout.is_ok() || layout->arena_bytes > layout_.arena_bytes) return;
    layout_ = std::move(layout).value();
    order_ = std::move(order);
  }

 private:
  std::size_t pick_moved() {
    const auto end_of = [&](std::size_t i) {
      const std::int64_t size = request_.lifetimes[i].size_bytes;
      return size == 0 ? 0 : layout_.offset_bytes[i] + size;
    };
    const std::size_t highest = *std::ranges::max_element(order_, {}, end_of);
    const Conflicts& conflicts = request_.conflicts != nullptr ? *request_.conflicts : by_steps_;
    std::vector<std::size_t> near = {highest};
    for (std::size_t i = 0; i < request_.lifetimes.size(); ++i) {
      if (i != highest && conflicts.are_in_conflict(i, highest)) near.push_back(i);
    }
    return near[random_() % near.size()];
  }

  const PackRequest& request_;
  Conflicts by_steps_;
  ArenaLayout layout_;
  std::vector<std::size_t> order_;
  std::minstd_rand random_{1};
};

}  // namespace

const char* packer_name(Packer packer) {
  switch (packer) {
    case Packer::kBump: return "bump";
    case Packer::kBestFit: return "best fit";
    case Packer::kFirstFit: return "first fit";
    case Packer::kColouring: return "colouring";
    case Packer::kLongestFirst: return "longest first";
  }
  return "?";
}

Result<ArenaLayout> pack_arena(const PackRequest& request, Packer packer) {
  SLUICE_TRY(check_lifetimes(request.lifetimes));
  return ArenaPacker(request, packer).run(order_of(request.lifetimes, packer));
}

Result<ArenaLayout> pack_arena(const PackRequest& request) {
  SLUICE_TRY(check_lifetimes(request.lifetimes));
  const std::int64_t bound = arena_lower_bound(request.lifetimes, request.alignment_bytes);
  const auto is_good = [&](const ArenaLayout& layout) {
    return layout.arena_bytes - bound <= bound / kGoodEnough;
  };
  std::optional<ArenaLayout> best;
  std::vector<std::size_t> order;
  Status refused;
  for (const Packer packer : kReusingPackers) {
    auto tried = order_of(request.lifetimes, packer);
    auto layout = ArenaPacker(request, packer).run(tried);
    if (!layout.is_ok()) {
      refused = layout.status();
    } else if (!best || layout->arena_bytes < best->arena_bytes) {
      best = std::move(layout).value();
      order = std::move(tried);
    }
    if (best && is_good(*best)) return std::move(*best);
  }
  if (!best) return refused;
  const std::size_t num_pairs = order.size() * order.size();
  const std::size_t num_rounds = std::min(kMaxRounds, kMaxPairs / num_pairs);
  OrderSearch search(request, std::move(*best), std::move(order));
  for (std::size_t i = 0; i < num_rounds && !is_good(search.layout()); ++i) search.run_round();
  return search.layout();
}

std::int64_t arena_lower_bound(std::span<const Lifetime> lifetimes, std::int64_t alignment_bytes) {
  // By step: bytes that end there, which are negative and come first, and bytes that begin.
  std::vector<std::pair<std::int32_t, std::int64_t>> changes;
  for (const Lifetime& lifetime : lifetimes) {
    const std::int64_t size = checked_align(lifetime.size_bytes, alignment_bytes).value_or(0);
    changes.emplace_back(lifetime.first_step, size);
    changes.emplace_back(lifetime.last_step + 1, -size);
  }
  std::ranges::sort(changes);
  std::int64_t alive = 0;
  std::int64_t most = 0;
  for (const auto& [step, bytes] : changes) {
    const auto sum = checked_add(alive, bytes);
    if (!sum) return std::numeric_limits<std::int64_t>::max();
    alive = *sum;
    most = std::max(most, alive);
  }
  return most;
}

// Quadratic on purpose: a package is untrusted, so this check must not share code or assumptions
// with pack_arena, and the number of lifetimes is that of a graph's operands.
Status check_arena(const PackRequest& request, const ArenaLayout& layout) {
  const auto& lifetimes = request.lifetimes;
  const auto bad = [](std::size_t i) {
    return make_error(Code::kDataLoss, "the memory plan misplaces tensor {}", i);
  };
  if (layout.offset_bytes.size() != lifetimes.size()) {
    return make_error(Code::kDataLoss, "the memory plan covers {} tensors, the graph has {}",
                      layout.offset_bytes.size(), lifetimes.size());
  }
  const Conflicts by_steps(lifetimes);
  const Conflicts& conflicts = request.conflicts != nullptr ? *request.conflicts : by_steps;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const std::int64_t begin = layout.offset_bytes[i];
    if (lifetimes[i].size_bytes == 0) continue;
    const auto end = checked_add(begin, lifetimes[i].size_bytes);
    if (begin < 0 || begin % request.alignment_bytes != 0 || !end || *end > layout.arena_bytes) {
      return bad(i);
    }
    for (std::size_t j = 0; j < i; ++j) {
      const std::int64_t other = layout.offset_bytes[j];
      const bool is_apart = *end <= other || other + lifetimes[j].size_bytes <= begin;
      if (lifetimes[j].size_bytes > 0 && !is_apart && conflicts.are_in_conflict(i, j)) {
        return bad(i);
      }
    }
  }
  return ok_status();
}

}  // namespace sluice::plan
