#include "ops/copy/strided_copy.h"

#include <algorithm>

namespace sluice::cpu {
namespace {

/// Where a plane begins, in elements of the source and of the target. The place is counted up, as
/// divisions would take longer than to move a small plane.
class PlanePlace {
 public:
  PlanePlace(const Walk& walk, std::int64_t plane)
      : walk_(walk), axes_(walk.dims.size() < 2 ? 0 : walk.dims.size() - 2) {
    for (std::size_t d = axes_; d-- > 0;) {
      index_[d] = plane % walk.dims[d];
      plane /= walk.dims[d];
      move(d, index_[d]);
    }
  }

  std::int64_t from() const { return from_; }
  std::int64_t to() const { return to_; }

  void advance() {
    for (std::size_t d = axes_; d-- > 0;) {
      move(d, 1);
      if (++index_[d] < walk_.dims[d]) return;
      move(d, -index_[d]);
      index_[d] = 0;
    }
  }

 private:
  /// Merged axes have at least two elements each, so that more would be more than 2^63.
  static constexpr std::size_t kMostAxes = 64;

  void move(std::size_t axis, std::int64_t steps) {
    from_ += steps * walk_.strides[0][axis];
    to_ += steps * walk_.strides[1][axis];
  }

  const Walk& walk_;
  std::size_t axes_;
  std::int64_t index_[kMostAxes];
  std::int64_t from_ = 0;
  std::int64_t to_ = 0;
};

}  // namespace

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

void StridedCopy::run(const std::byte* from, std::byte* to, const Worker& worker) const {
  if (elements_ == 0) return;
  // With at least a plane per worker no plane is divided.
  const Share share = share_of(outer_ * rows_, outer_ >= worker.count ? rows_ : 1, worker);
  const std::size_t rank = walk_.dims.size();
  const auto stride = [&](std::size_t operand, std::size_t back) {
    return rank >= back ? walk_.strides[operand][rank - back] : 0;
  };
  PlaneMove plane = {from, to, stride(0, 2), stride(0, 1), stride(1, 2), stride(1, 1), 0, cols_};
  PlanePlace place(walk_, share.begin / rows_);
  std::int64_t row = share.begin % rows_;
  for (std::int64_t at = share.begin; at < share.end;) {
    plane.from = from + (place.from() + row * plane.from_row) * element_bytes_;
    plane.to = to + (place.to() + row * plane.to_row) * element_bytes_;
    plane.rows = std::min(rows_ - row, share.end - at);
    move_(plane, element_bytes_);
    at += plane.rows;
    row = 0;
    place.advance();
  }
}

}  // namespace sluice::cpu
