// CumSum.

#include <algorithm>
#include <memory>
#include <vector>

#include "ops/operands/constants.h"
#include "ops/rows/along_axis.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

class CumulativeSum : public Kernel {
 public:
  CumulativeSum(const sluice_op& op, std::int64_t axis)
      : Kernel(op),
        view_(along_axis(op.inputs[0].tensor, axis)),
        is_exclusive_(plugin::Attributes(op).get_int("exclusive") != 0),
        is_reversed_(plugin::Attributes(op).get_int("reverse") != 0) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const std::int64_t strips = (view_.inner + kStrip - 1) / kStrip;
    const Share share = share_of(view_.outer * strips, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t first = i % strips * kStrip;
      const std::int64_t at = i / strips * view_.axis * view_.inner + first;
      run_strip(run.input<float>(0) + at, run.output<float>(0) + at,
                std::min(kStrip, view_.inner - first));
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {view_.outer, view_.axis, view_.inner, sizeof(float)});
    extents.writes(0, {view_.outer, view_.axis, view_.inner, sizeof(float)});
  }
  double cost_ns() const override { return static_cast<double>(view_.elements()); }
  std::uint32_t in_place_inputs() const override { return 1; }

 private:
  static constexpr std::int64_t kStrip = 64;

  /// Neighbouring columns together, so that memory is read in order.
  void run_strip(const float* x, float* y, std::int64_t columns) const {
    double totals[kStrip] = {};
    for (std::int64_t k = 0; k < view_.axis; ++k) {
      const std::int64_t row = (is_reversed_ ? view_.axis - 1 - k : k) * view_.inner;
      for (std::int64_t c = 0; c < columns; ++c) {
        const double before = totals[c];
        totals[c] += x[row + c];
        y[row + c] = static_cast<float>(is_exclusive_ ? before : totals[c]);
      }
    }
  }

  AlongAxis view_;
  bool is_exclusive_;
  bool is_reversed_;
};

Status check_cumulative(const sluice_op& op) {
  Dims axis;
  if (!constant_integers(op, 1, &axis) || axis.size() != 1) {
    return plugin::unimplemented("an axis at run time");
  }
  return check_f32_axis(op, axis[0]);
}

Status make_cumulative(const sluice_op& op, Isa, std::unique_ptr<Kernel>* kernel) {
  Dims axis;
  constant_integers(op, 1, &axis);
  *kernel = std::make_unique<CumulativeSum>(op, axis[0]);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> cumulative_entries() {
  return {{.kind = "CumSum", .check = check_cumulative, .make = make_cumulative}};
}

}  // namespace sluice::cpu
