// Places every intermediate tensor of a run in one shared arena.
//
// Pure: lifetimes in, byte offsets out. Allocates no device memory; safe to call from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace sluice::plan {

/// How long one piece of memory is needed.
struct Lifetime {
  std::int32_t first_step = 0;  ///< step that writes it first; steps count from 0
  std::int32_t last_step = 0;   ///< last step that reads or writes it, inclusive
  std::int64_t size_bytes = 0;  ///< before padding; 0 takes no room
};

/// Result of `pack_arena`; entry i belongs to `lifetimes[i]`.
struct ArenaLayout {
  std::vector<std::int64_t> offset_bytes;  ///< each a multiple of the alignment
  std::int64_t arena_bytes = 0;            ///< end of the highest piece, rounded up
};

/// Packs pieces so that no two alive in the same step overlap.
///
/// Largest first, best fit among the gaps: O(n^2) for n lifetimes; same input, same layout.
/// Requires: `alignment_bytes` is a power of two.
/// Fails:    kInvalidArgument    a lifetime has a negative size or ends before it starts
///           kResourceExhausted  the arena would pass `limit_bytes`
Result<ArenaLayout> pack_arena(std::span<const Lifetime> lifetimes, std::int64_t alignment_bytes,
                               std::int64_t limit_bytes);

/// Checks a layout that came from outside against the same rules.
/// Fails: kDataLoss saying which piece is misplaced.
Status check_arena(std::span<const Lifetime> lifetimes, const ArenaLayout& layout,
                   std::int64_t alignment_bytes);

}  // namespace sluice::plan
