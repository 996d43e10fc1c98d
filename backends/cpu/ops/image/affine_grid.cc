// AffineGrid: the places that GridSample reads, by an affine map of each pixel's own place.

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/image/affine_row.h"
#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

/// Places along one axis of `size` pixels, from -1 to 1: the pixels' centres, of which the outer
/// ones are at the ends with `align_corners`.
std::vector<double> places(std::int64_t size, bool aligns_corners) {
  std::vector<double> found;
  const auto extent = static_cast<double>(size);
  for (std::int64_t i = 0; i < size; ++i) {
    const auto at = static_cast<double>(i);
    const double aligned = size > 1 ? 2 * at / (extent - 1) - 1 : 0;
    found.push_back(aligns_corners ? aligned : (2 * at + 1) / extent - 1);
  }
  return found;
}

/// theta [n, rank, rank + 1] times (x, y, .., 1). Along a row only x changes: the rest is summed
/// once, in doubles. A result is off by at most 2^-22 times the sum of the terms' magnitudes.
class AffineGrid : public Kernel {
 public:
  AffineGrid(const sluice_op& op, Isa isa)
      : Kernel(op), affine_row_(SLUICE_CPU_PICK(isa, affine_row)) {
    const auto y = plugin::dims_of(op.outputs[0].tensor);
    const bool aligns_corners = plugin::Attributes(op).get_int("align_corners") != 0;
    rank_ = static_cast<int>(y.size()) - 2;
    batch_ = y[0];
    for (int d = 0; d + 1 < rank_; ++d) {
      axes_.push_back(places(y[static_cast<std::size_t>(d) + 1], aligns_corners));
      rows_ *= y[static_cast<std::size_t>(d) + 1];
    }
    for (const double x : places(y[static_cast<std::size_t>(rank_)], aligns_corners)) {
      for (int r = 0; r < rank_; ++r) x_.push_back(static_cast<float>(x));
    }
  }

  void run(const Run& run, int, const Worker& worker) const override {
    const auto count = static_cast<std::int64_t>(x_.size());
    const Share share = share_of(batch_ * rows_, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const float* theta = run.input<float>(0) + i / rows_ * rank_ * (rank_ + 1);
      float slopes[kAffineRanks];
      float rests[kAffineRanks];
      for (int r = 0; r < rank_; ++r) {
        slopes[r] = theta[r * (rank_ + 1)];
        rests[r] = static_cast<float>(sum_of_row(theta + r * (rank_ + 1), i % rows_));
      }
      affine_row_(x_.data(), count, rank_, slopes, rests, run.output<float>(0) + i * count);
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {batch_, rank_, rank_ + 1, sizeof(float)});
    extents.writes(0, {batch_, rows_, static_cast<std::int64_t>(x_.size()), sizeof(float)});
  }
  double cost_ns() const override {
    return static_cast<double>(batch_ * rows_) * (20 + 0.1 * static_cast<double>(x_.size()));
  }

 private:
  /// The sum of the constant and of all axes but the last; `theta[0]` multiplies that one.
  double sum_of_row(const float* theta, std::int64_t row) const {
    double sum = 0;
    for (int d = rank_ - 1; d-- > 0;) {
      const std::vector<double>& axis = axes_[static_cast<std::size_t>(d)];
      const auto size = static_cast<std::int64_t>(axis.size());
      sum += double{theta[rank_ - 1 - d]} * axis[static_cast<std::size_t>(row % size)];
      row /= size;
    }
    return sum + double{theta[rank_]};
  }

  decltype(&portable::affine_row) affine_row_;
  int rank_ = 2;
  std::int64_t batch_ = 1;
  std::int64_t rows_ = 1;                  ///< of one grid
  std::vector<std::vector<double>> axes_;  ///< all but the last
  std::vector<float> x_;                   ///< the last, each place `rank` times
};

Status check_affine_grid(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& theta = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  if (theta.element_type != plugin::kF32 || y.element_type != plugin::kF32) {
    return unimplemented("not f32");
  }
  if (theta.layout != SLUICE_LAYOUT_ROW_MAJOR || y.layout != SLUICE_LAYOUT_ROW_MAJOR) {
    return unimplemented("not row-major");
  }
  return theta.rank == 3 && (y.rank == 4 || y.rank == 5) ? plugin::ok()
                                                         : unimplemented("other ranks");
}

Status make_affine_grid(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const auto theta = plugin::dims_of(op.inputs[0].tensor);
  const auto y = plugin::dims_of(op.outputs[0].tensor);
  const auto rank = static_cast<std::int64_t>(y.size()) - 2;
  if (theta[0] != y[0] || theta[1] != rank || theta[2] != rank + 1 || y.back() != rank ||
      plugin::num_elements(y) < 1) {
    return unimplemented("theta and output that do not fit, or are empty");
  }
  *kernel = std::make_unique<AffineGrid>(op, isa);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> affine_grid_entries() {
  return {{.kind = "AffineGrid", .check = check_affine_grid, .make = make_affine_grid}};
}

}  // namespace sluice::cpu
