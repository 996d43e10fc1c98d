// How far outputs are from those they should be near, over many samples.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/loaded_model.h"

namespace sluice::tool {

/// Agreement of one f32 output.
class Agreement {
 public:
  /// Requires: two tensors of f32, of one shape.
  void add(const terms::TensorView& got, const terms::TensorView& expected);

  std::int64_t samples() const { return samples_; }
  /// The largest difference of all, over the largest magnitude expected.
  double largest_error() const;
  /// Power of what is expected over power of the differences, in decibels; infinite without any.
  double signal_to_noise() const;
  /// Rows, along the last dimension, whose largest element stands in the same place.
  std::int64_t same_largest() const { return same_largest_; }
  std::int64_t rows() const { return rows_; }

 private:
  std::int64_t samples_ = 0;
  double largest_difference_ = 0;
  double largest_expected_ = 0;
  double signal_ = 0;
  double noise_ = 0;
  std::int64_t same_largest_ = 0;
  std::int64_t rows_ = 0;
};

}  // namespace sluice::tool
