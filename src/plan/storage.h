// Which values share memory, and for how long each piece of memory is needed.
//
// Pure: a list of steps on value numbers in, storages with lifetimes out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/arena_layout.h"

namespace sluice::plan {

/// Where a value's memory comes from.
enum class Source : std::uint8_t {
  kArena,     ///< written by a step, read by steps
  kExternal,  ///< memory of the caller: inputs, constants; never written, never reused
  kOutput,    ///< written by a step straight into the caller's output buffer
};

struct Value {
  std::int64_t size_bytes = 0;
  Source source = Source::kArena;
};

/// One step of a run; numbers index the values.
struct Step {
  std::vector<std::int32_t> reads;   ///< -1 for an absent operand
  std::vector<std::int32_t> writes;  ///< -1 for an absent result
  std::uint32_t in_place_reads = 0;  ///< bit i: writes[0] may take the memory of reads[i]
  bool is_view = false;              ///< writes[0] is reads[0] under another shape: nothing runs
};

/// Entry i of `storage_of` belongs to value i: the storage it lives in, or -1 for one that lives
/// outside the arena or is never used. `lifetimes[s]` says how long storage s is needed.
struct StorageAssignment {
  std::vector<std::int32_t> root_of;  ///< value whose memory this value shares; itself mostly
  std::vector<std::int32_t> storage_of;
  std::vector<Lifetime> lifetimes;
};

/// Views share the memory of what they view; a result takes over the memory of an operand that the
/// step may overwrite, that nothing reads later and that has the same size.
/// Requires: every number is -1 or a valid index.
StorageAssignment assign_storage(std::span<const Value> values, std::span<const Step> steps);

}  // namespace sluice::plan
