#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/image/pool_row.h"

namespace sluice::cpu {

/// Collects rows of one geometry and pools some at a time: as many as fit into the nearest cache.
class PoolBatch {
 public:
  /// `scratch` is of `scratch_bytes(row)`.
  PoolBatch(const PoolRow& row, decltype(&portable::pool_rows) pool_rows, std::byte* scratch)
      : pool_rows_(pool_rows), most_(rows_together(row)) {
    for (std::int64_t i = 0; i < most_; ++i) {
      rows_[i] = row;
      rows_[i].columns = reinterpret_cast<float*>(scratch + i * columns_bytes(row));
    }
  }

  /// A row to fill in: input, rows, slices, counted_rows and output.
  PoolRow& next() {
    if (count_ == most_) flush();
    return rows_[count_++];
  }

  void flush() {
    pool_rows_(rows_, count_);
    for (std::int64_t i = 0; i < count_; ++i) rows_[i].has_padding = true;
    count_ = 0;
  }

  static std::int64_t scratch_bytes(const PoolRow& row) {
    return rows_together(row) * columns_bytes(row);
  }

 private:
  static constexpr std::int64_t kMostRows = 8;
  static constexpr std::int64_t kCacheBytes = 16 << 10;

  static std::int64_t rows_together(const PoolRow& row) {
    return std::clamp<std::int64_t>(kCacheBytes / (columns_bytes(row) + 1), 1, kMostRows);
  }
  /// Whole cache lines.
  static std::int64_t columns_bytes(const PoolRow& row) {
    constexpr std::int64_t kLine = 16;
    const std::int64_t floats = scratch_columns(row) * row.pixel;
    return (floats + kLine - 1) / kLine * kLine * static_cast<std::int64_t>(sizeof(float));
  }

  decltype(&portable::pool_rows) pool_rows_;
  std::int64_t most_;
  PoolRow rows_[kMostRows];
  std::int64_t count_ = 0;
};

}  // namespace sluice::cpu
