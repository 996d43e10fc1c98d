#include "ops/copy/strided_copy.h"

#include <algorithm>

namespace sluice::cpu {
/// The last two axes that cannot be merged are the plane that `move_plane` moves; the others are
/// walked.
StridedCopy::StridedCopy(std::span<const std::int64_t> dims, const Dims& from, const Dims& to,
                         std::int64_t element_bytes, Isa isa)
    : walk_(collapse(dims, {from, to})),
      element_bytes_(element_bytes),
      move_(SLUICE_CPU_PICK(isa, move_plane)) {
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

void StridedCopy::copy_rows(const std::byte* from, std::byte* to, std::int64_t begin,
                            std::int64_t end) const {
  const std::size_t rank = walk_.dims.size();
  const auto stride = [&](std::size_t operand, std::size_t back) {
    return rank >= back ? walk_.strides[operand][rank - back] : 0;
  };
  from += begin * stride(0, 2) * element_bytes_;
  to += begin * stride(1, 2) * element_bytes_;
  const PlaneMove plane = {from,         to,           stride(0, 2), stride(0, 1),
                           stride(1, 2), stride(1, 1), end - begin,  cols_};
  move_(plane, element_bytes_);
}

void StridedCopy::run(const std::byte* from, std::byte* to, const Worker& worker) const {
  if (elements_ == 0) return;
  // With at least a plane per worker no plane is divided.
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
    copy_rows(from + from_offset * element_bytes_, to + to_offset * element_bytes_, row, end);
    at += end - row;
  }
}

}  // namespace sluice::cpu
