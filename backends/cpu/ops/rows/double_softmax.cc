#include "ops/rows/double_softmax.h"

#include <algorithm>
#include <cmath>

#include "kernels/elements/typed.h"

namespace sluice::cpu {
namespace {

/// Line by line in scratch.
class DoubleSoftmax : public Kernel {
 public:
  DoubleSoftmax(const sluice_op& op, const AlongAxis& view, bool is_log, Isa isa)
      : Kernel(op),
        view_(view),
        is_log_(is_log),
        exp_(SLUICE_CPU_PICK(isa, typed_loop)(TypedOp::kExp, Number::kF64)) {}

  void run(const Run& run, int, const Worker& worker) const override {
    auto* line = reinterpret_cast<double*>(worker.scratch);
    const Share share = share_of(view_.outer * view_.inner, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t first = i / view_.inner * view_.axis * view_.inner + i % view_.inner;
      const double* x = run.input<double>(0) + first;
      double* y = run.output<double>(0) + first;
      double largest = x[0];
      for (std::int64_t k = 1; k < view_.axis; ++k) largest = std::max(largest, x[k * view_.inner]);
      for (std::int64_t k = 0; k < view_.axis; ++k) line[k] = x[k * view_.inner] - largest;
      exp_(line, 1, line, 1, line, view_.axis);
      double sum = 0;
      for (std::int64_t k = 0; k < view_.axis; ++k) sum += line[k];
      const double logarithm = is_log_ ? std::log(sum) : 0;
      for (std::int64_t k = 0; k < view_.axis; ++k) {
        const std::int64_t at = k * view_.inner;
        y[at] = is_log_ ? x[at] - largest - logarithm : line[k] / sum;
      }
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {view_.outer, view_.axis, view_.inner, sizeof(double)});
    extents.writes(0, {view_.outer, view_.axis, view_.inner, sizeof(double)});
  }
  std::int64_t scratch_bytes() const override {
    return view_.axis * static_cast<std::int64_t>(sizeof(double));
  }
  double cost_ns() const override { return static_cast<double>(view_.elements()) * 4; }
  std::uint32_t in_place_inputs() const override { return 1; }

 private:
  AlongAxis view_;
  bool is_log_;
  TypedLoop exp_;
};

}  // namespace

std::unique_ptr<Kernel> make_double_softmax(const sluice_op& op, const AlongAxis& view, bool is_log,
                                            Isa isa) {
  return std::make_unique<DoubleSoftmax>(op, view, is_log, isa);
}

}  // namespace sluice::cpu
