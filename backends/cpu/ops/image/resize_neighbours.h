#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/image/resize_row.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// The neighbours of each output along one axis, and their weights: [neighbours][outputs], so that
/// a vector takes one neighbour of many outputs. A default one is an axis of one element.
class ResizeNeighbours {
 public:
  ResizeNeighbours() : ResizeNeighbours(1, 1) {}
  ResizeNeighbours(std::int64_t size, std::int64_t count);

  void set(std::int64_t i, std::int64_t k, std::int64_t index, double weight);

  std::int64_t size() const { return size_; }    ///< of the output
  std::int64_t count() const { return count_; }  ///< neighbours of each output
  std::int64_t index(std::int64_t i, std::int64_t k) const { return index_[at(i, k)]; }
  double weight(std::int64_t i, std::int64_t k) const { return exact_[at(i, k)]; }
  /// Whether each output is one input.
  bool is_one() const { return count_ == 1; }
  /// Whether output i is input i.
  bool is_identity() const { return is_identity_; }
  void set_identity() { is_identity_ = true; }
  ResizeWeights view() const;
  /// Those of an axis of pixels of `channels` elements each, element by element.
  ResizeNeighbours of_pixels(std::int64_t channels) const;

 private:
  std::size_t at(std::int64_t i, std::int64_t k) const {
    return static_cast<std::size_t>(k * size_ + i);
  }

  std::int64_t size_;
  std::int64_t count_;
  bool is_identity_ = false;
  std::vector<std::int32_t> index_;
  std::vector<float> weights_;
  std::vector<double> exact_;
};

/// The neighbours along axis `dim` of a Resize, in every mode.
/// Requires: check_resize_attributes is ok, and neither input nor output is empty.
ResizeNeighbours resize_neighbours(const sluice_op& op, int dim);

}  // namespace sluice::cpu
