// Places every intermediate tensor of a run in one shared arena.
//
// Pure: lifetimes in, byte offsets out. Allocates no device memory; safe to call from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "plan/conflicts.h"

namespace sluice::plan {

/// Result of `pack_arena`; entry i belongs to `lifetimes[i]`.
struct ArenaLayout {
  std::vector<std::int64_t> offset_bytes;  ///< each a multiple of the alignment
  std::int64_t arena_bytes = 0;            ///< end of the highest piece, rounded up
};

/// How a layout is found. All place one piece after the other and differ in the order of pieces and
/// in the choice of the gap.
enum class Packer : std::uint8_t {
  kBump,          ///< every piece behind the last one: nothing is reused
  kBestFit,       ///< largest first, into the tightest gap
  kFirstFit,      ///< largest first, into the lowest gap
  kColouring,     ///< by first step, into the lowest gap: colours of an interval graph
  kLongestFirst,  ///< longest lifetime first, into the tightest gap
};
inline constexpr std::array kReusingPackers = {Packer::kBestFit, Packer::kFirstFit,
                                               Packer::kColouring, Packer::kLongestFirst};

struct PackRequest {
  std::span<const Lifetime> lifetimes;
  std::int64_t alignment_bytes = 1;  ///< a power of two
  std::int64_t max_bytes = 0;
  const Conflicts* conflicts = nullptr;  ///< null: steps run one after another
};

/// Packs pieces so that no two in conflict overlap.
///
/// O(n log n + p log p) for n lifetimes and p pairs that conflict; same input, same layout.
/// Fails:    kInvalidArgument    a lifetime has a negative size or ends before it starts
///           kResourceExhausted  the arena would pass `max_bytes`
Result<ArenaLayout> pack_arena(const PackRequest& request, Packer packer);

/// The layout of `sweep_arena` if that reaches the lower bound, or if pieces conflict with hundreds
/// of others on average. Else the smallest layout of kReusingPackers, improved by moves of single
/// pieces. The first layout within 2 % of the lower bound ends the search.
/// Fails: as above.
Result<ArenaLayout> pack_arena(const PackRequest& request);

/// The error of an arena that passes `max_bytes`.
Status arena_too_large(const PackRequest& request);

/// The most bytes, padded, that are alive in one step: no layout is smaller.
/// Requires: lifetimes that `pack_arena` accepts.
std::int64_t arena_lower_bound(std::span<const Lifetime> lifetimes, std::int64_t alignment_bytes);

/// Checks a layout that came from outside against the same rules.
/// Fails: kDataLoss saying which piece is misplaced.
Status check_arena(const PackRequest& request, const ArenaLayout& layout);

}  // namespace sluice::plan
