#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/worker.h"
#include "kernels/elements/move_plane.h"
#include "ops/operands/broadcast.h"
#include "plugin/extents.h"

namespace sluice::cpu {

/// Elements of 1, 2, 4, 8 or 16 bytes moved from one strided arrangement to another: transposing,
/// slicing, expanding.
class StridedCopy {
 public:
  /// Strides in elements; those of the source may be zero or negative.
  StridedCopy(std::span<const std::int64_t> dims, const Dims& from, const Dims& to,
              std::int64_t element_bytes, Isa isa);

  /// This worker's share. `from` and `to` are the addresses of element (0, ..., 0).
  void run(const std::byte* from, std::byte* to, const Worker& worker) const;

  double cost_ns() const;

  std::int64_t elements() const { return elements_; }
  std::int64_t element_bytes() const { return element_bytes_; }
  /// The source's elements that are read. Those of the target are as many as `elements`.
  Reach reach() const { return reach_of(walk_.dims, walk_.strides[0]); }

 private:
  Walk walk_;  ///< strides: from, to
  std::int64_t element_bytes_;
  decltype(&portable::move_plane) move_;
  std::int64_t elements_ = 1;
  std::int64_t outer_ = 1;  ///< planes of the last two dimensions
  std::int64_t rows_ = 1;
  std::int64_t cols_ = 1;
};

}  // namespace sluice::cpu
