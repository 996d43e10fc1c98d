// Packs an arena step by step, as an allocator would at run time: for very many pieces.
#pragma once

#include <cstddef>
#include <optional>

#include "plan/arena_layout.h"

namespace sluice::plan {

/// Goes through the steps once: a piece takes the tightest gap when it is first written, the
/// largest piece of a step first, and returns it behind its last use. O(n log n) for n lifetimes;
/// the arena is mostly a few percent larger than by kReusingPackers. Requires: valid lifetimes,
/// which conflict by steps. Fails: as `pack_arena`.
Result<ArenaLayout> sweep_arena(const PackRequest& request);

/// Checks a layout from outside in the same time, for pieces that conflict by steps: the living are
/// kept in order of their offsets, where each new one must fit between its neighbours. Returns the
/// first piece that is misplaced, if any.
std::optional<std::size_t> find_misplaced(const PackRequest& request, const ArenaLayout& layout);

}  // namespace sluice::plan
