// The pieces of memory that each piece may not share bytes with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/conflicts.h"

namespace sluice::plan {

/// The lists of a symmetric relation, each in ascending order.
class Neighbours {
 public:
  /// By steps, or by `conflicts` unless it is null. By steps the time is that of sorting and of the
  /// pairs; nullopt if there are more than `max_pairs`, which costs no more than so many do.
  static std::optional<Neighbours> find(std::span<const Lifetime> lifetimes,
                                        const Conflicts* conflicts, std::size_t max_pairs);

  std::span<const std::uint32_t> of(std::size_t piece) const {
    return std::span(others_).subspan(begin_[piece], begin_[piece + 1] - begin_[piece]);
  }

 private:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  Neighbours(std::size_t num_pieces, std::span<const Pair> pairs);

  std::vector<std::size_t> begin_;  // by piece, in others_
  std::vector<std::uint32_t> others_;
};

}  // namespace sluice::plan
