#include "plan/arena_layout.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "base/checked.h"
#include "base/log/work_counts.h"
#include "plan/arena_sweep.h"
#include "plan/neighbours.h"

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
/// new shapes.
constexpr std::int64_t kGoodEnough = 50;
/// Rounds of the search for a better order. Many pieces get fewer rounds: the search takes some
/// milliseconds at most.
constexpr std::size_t kMaxRounds = 100;
constexpr std::size_t kMaxPairs = 8'000'000;
/// Where a piece conflicts with more others on average, as in a fan-out of thousands, the packers
/// would take quadratic time. The sweep takes their place.
constexpr std::size_t kPairsPerPiece = 256;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

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
  /// `neighbours` is not read by kBump.
  ArenaPacker(const PackRequest& request, const Neighbours* neighbours, Packer packer)
      : request_(request), neighbours_(neighbours), packer_(packer) {}

  Result<ArenaLayout> run(std::span<const std::size_t> order) {
    layout_.offset_bytes.assign(request_.lifetimes.size(), 0);
    end_of_.assign(request_.lifetimes.size(), 0);
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
    if (!end || *end > request_.max_bytes) return arena_too_large(request_);
    layout_.offset_bytes[i] = offset;
    layout_.arena_bytes = std::max(layout_.arena_bytes, *end);
    end_of_[i] = *end;
    return ok_status();
  }

  /// Pieces placed so far that piece `i` may not overlap. Two of them may share bytes, hence the
  /// running maximum in find_gap.
  std::span<const Placed> busy_with(std::size_t i) {
    busy_.clear();
    const auto neighbours = neighbours_->of(i);
    work_counts.visits += neighbours.size() + 1;
    for (const std::uint32_t other : neighbours) {
      if (end_of_[other] > 0) busy_.push_back({layout_.offset_bytes[other], end_of_[other]});
    }
    std::ranges::sort(busy_, {}, &Placed::begin);
    return busy_;
  }

  const PackRequest& request_;
  const Neighbours* neighbours_;
  Packer packer_;
  ArenaLayout layout_;
  std::vector<std::int64_t> end_of_;  // by piece; 0: not placed
  std::vector<Placed> busy_;
};

/// Hill climbing on the order of pieces: one of those in conflict with the highest piece, or that
/// one itself, moves to the first quarter of the order. Deterministic.
class OrderSearch {
 public:
  OrderSearch(const PackRequest& request, const Neighbours& neighbours, ArenaLayout layout,
              std::vector<std::size_t> order)
      : request_(request),
        neighbours_(neighbours),
        layout_(std::move(layout)),
        order_(std::move(order)) {}

  const ArenaLayout& layout() const { return layout_; }

  void run_round() {
    std::vector<std::size_t> order = order_;
    const std::size_t moved = pick_moved();
    const auto target = static_cast<std::ptrdiff_t>(random_() % (order.size() / 4 + 1));
    order.erase(std::ranges::find(order, moved));
    order.insert(order.begin() + target, moved);
    auto layout = ArenaPacker(request_, &neighbours_, Packer::kBestFit).run(order);
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
    const auto near = neighbours_.of(highest);
    const std::size_t picked = random_() % (near.size() + 1);
    return picked == 0 ? highest : near[picked - 1];
  }

  const PackRequest& request_;
  const Neighbours& neighbours_;
  ArenaLayout layout_;
  std::vector<std::size_t> order_;
  std::minstd_rand random_{1};
};

/// Where tasks run side by side, whose pieces conflict in no order.
std::optional<std::size_t> find_misplaced_by_pairs(const PackRequest& request,
                                                   const ArenaLayout& layout) {
  const auto& lifetimes = request.lifetimes;
  for (std::size_t i = 0; i < lifetimes.size(); ++i) {
    const std::int64_t begin = layout.offset_bytes[i];
    if (lifetimes[i].size_bytes == 0) continue;
    const auto end = checked_add(begin, lifetimes[i].size_bytes);
    if (begin < 0 || begin % request.alignment_bytes != 0 || !end || *end > layout.arena_bytes) {
      return i;
    }
    for (std::size_t j = 0; j < i; ++j) {
      const std::int64_t other = layout.offset_bytes[j];
      const bool is_apart = *end <= other || other + lifetimes[j].size_bytes <= begin;
      if (lifetimes[j].size_bytes > 0 && !is_apart && request.conflicts->are_in_conflict(i, j)) {
        return i;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Status arena_too_large(const PackRequest& request) {
  return make_error(Code::kResourceExhausted,
                    "intermediate tensors need more than the {} bytes allowed", request.max_bytes);
}

Result<ArenaLayout> pack_arena(const PackRequest& request, Packer packer) {
  SLUICE_TRY(check_lifetimes(request.lifetimes));
  const auto neighbours = Neighbours::find(request.lifetimes, request.conflicts, kNoLimit);
  return ArenaPacker(request, &*neighbours, packer).run(order_of(request.lifetimes, packer));
}

Result<ArenaLayout> pack_arena(const PackRequest& request) {
  SLUICE_TRY(check_lifetimes(request.lifetimes));
  const std::int64_t bound = arena_lower_bound(request.lifetimes, request.alignment_bytes);
  if (request.conflicts == nullptr) {
    auto swept = sweep_arena(request);
    if (swept.is_ok() && swept->arena_bytes == bound) return swept;
  }
  const auto neighbours = Neighbours::find(request.lifetimes, request.conflicts,
                                           kPairsPerPiece * request.lifetimes.size());
  if (!neighbours) return sweep_arena(request);
  const auto is_good = [&](const ArenaLayout& layout) {
    return layout.arena_bytes - bound <= bound / kGoodEnough;
  };
  std::optional<ArenaLayout> best;
  std::vector<std::size_t> order;
  Status refused;
  for (const Packer packer : kReusingPackers) {
    auto tried = order_of(request.lifetimes, packer);
    auto layout = ArenaPacker(request, &*neighbours, packer).run(tried);
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
  OrderSearch search(request, *neighbours, std::move(*best), std::move(order));
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

// A package is untrusted, so this check shares no code or assumptions with the packers.
Status check_arena(const PackRequest& request, const ArenaLayout& layout) {
  if (layout.offset_bytes.size() != request.lifetimes.size()) {
    return make_error(Code::kDataLoss, "the memory plan covers {} tensors, the graph has {}",
                      layout.offset_bytes.size(), request.lifetimes.size());
  }
  const auto misplaced = request.conflicts == nullptr ? find_misplaced(request, layout)
                                                      : find_misplaced_by_pairs(request, layout);
  if (!misplaced) return ok_status();
  return make_error(Code::kDataLoss, "the memory plan misplaces tensor {}", *misplaced);
}

}  // namespace sluice::plan
