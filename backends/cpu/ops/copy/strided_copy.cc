#include "ops/copy/strided_copy.h"

#include <algorithm>
#include <cstring>

namespace sluice::cpu {
namespace {

struct Wide {
  std::uint64_t half[2];
};

/// Square that stays in the nearest cache while rows turn into columns.
constexpr std::int64_t kBlock = 16;

}  // namespace

StridedCopy::StridedCopy(std::span<const std::int64_t> dims, const Dims& from, const Dims& to,
                         std::int64_t element_bytes)
    : walk_(collapse(dims, {from, to})), element_bytes_(element_bytes) {
  for (const std::int64_t dim : dims) elements_ *= dim;
  cols_ = walk_.dims.back();
  if (walk_.dims.size() > 1) rows_ = walk_.dims[walk_.dims.size() - 2];
  if (elements_ > 0) outer_ = elements_ / (rows_ * cols_);
}

double StridedCopy::cost_ns() const {
  const bool contiguous = walk_.strides[0].back() == 1;
  return static_cast<double>(elements_) *
         (contiguous ? 0.1 * static_cast<double>(element_bytes_) : 1);
}

template <typename Element>
void StridedCopy::copy_elements(const Plane& plane) const {
  const std::size_t rank = walk_.dims.size();
  const auto stride = [&](int operand, std::size_t back) {
    return rank >= back ? walk_.strides[static_cast<std::size_t>(operand)][rank - back] : 0;
  };
  const std::int64_t from_row = stride(0, 2);
  const std::int64_t from_col = stride(0, 1);
  const std::int64_t to_row = stride(1, 2);
  const std::int64_t to_col = stride(1, 1);
  const auto* from = reinterpret_cast<const Element*>(plane.from);
  auto* to = reinterpret_cast<Element*>(plane.to);
  for (std::int64_t r0 = plane.row_begin; r0 < plane.row_end; r0 += kBlock) {
    const std::int64_t r1 = std::min(r0 + kBlock, plane.row_end);
    for (std::int64_t c0 = 0; c0 < cols_; c0 += kBlock) {
      const std::int64_t c1 = std::min(c0 + kBlock, cols_);
      for (std::int64_t r = r0; r < r1; ++r) {
        for (std::int64_t c = c0; c < c1; ++c) {
          to[r * to_row + c * to_col] = from[r * from_row + c * from_col];
        }
      }
    }
  }
}

void StridedCopy::copy_plane(const Plane& plane) const {
  const std::size_t rank = walk_.dims.size();
  if (walk_.strides[0][rank - 1] == 1 && walk_.strides[1][rank - 1] == 1) {
    const std::int64_t from_row = rank > 1 ? walk_.strides[0][rank - 2] * element_bytes_ : 0;
    const std::int64_t to_row = rank > 1 ? walk_.strides[1][rank - 2] * element_bytes_ : 0;
    for (std::int64_t r = plane.row_begin; r < plane.row_end; ++r) {
      std::memcpy(plane.to + r * to_row, plane.from + r * from_row,
                  static_cast<std::size_t>(cols_ * element_bytes_));
    }
    return;
  }
  switch (element_bytes_) {
    case 1: return copy_elements<std::uint8_t>(plane);
    case 2: return copy_elements<std::uint16_t>(plane);
    case 4: return copy_elements<std::uint32_t>(plane);
    case 8: return copy_elements<std::uint64_t>(plane);
    default: return copy_elements<Wide>(plane);
  }
}

void StridedCopy::run(const std::byte* from, std::byte* to, const Worker& worker) const {
  if (elements_ == 0) return;
  const Share share = share_of(outer_ * rows_, outer_ >= worker.count ? rows_ : 1, worker);
  for (std::int64_t at = share.begin; at < share.end;) {
    std::int64_t plane = at / rows_;
    const std::int64_t row = at - plane * rows_;
    const std::int64_t end = std::min(rows_, row + share.end - at);
    std::int64_t from_offset = 0;
    std::int64_t to_offset = 0;
    for (std::size_t d = walk_.dims.size() < 2 ? 0 : walk_.dims.size() - 2; d-- > 0;) {
      const std::int64_t index = plane % walk_.dims[d];
      plane /= walk_.dims[d];
      from_offset += index * walk_.strides[0][d];
      to_offset += index * walk_.strides[1][d];
    }
    copy_plane({from + from_offset * element_bytes_, to + to_offset * element_bytes_, row, end});
    at += end - row;
  }
}

}  // namespace sluice::cpu
