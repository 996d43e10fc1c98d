#include "ops/rows/double_softmax.h"

#include <algorithm>
#include <cmath>

namespace sluice::cpu {
namespace {

/// Line by line in scratch, by the exponential of the C library: results are those of the reference
/// kernel to the last bit.
class DoubleSoftmax : public Kernel {
 public:
  DoubleSoftmax(const sluice_op& op, const AlongAxis& view, bool is_log)
      : Kernel(op), view_(view), is_log_(is_log) {}

  void run(const Run& run, int, const Worker& worker) const override {
    auto* line = reinterpret_cast<double*>(worker.scratch);
    const Share share = share_of(view_.outer * view_.inner, 1, worker);
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const std::int64_t first = i / view_.inner * view_.axis * view_.inner + i % view_.inner;
      const double* x = run.input<double>(0) + first;
      double* y = run.output<double>(0) + first;
      for (std::int64_t k = 0; k < view_.axis; ++k) line[k] = x[k * view_.inner];
      is_log_ ? log_softmax(line) : softmax(line);
      for (std::int64_t k = 0; k < view_.axis; ++k) y[k * view_.inner] = line[k];
    }
  }

  void extents(Extents& extents) const override {
    extents.reads(0, {view_.outer, view_.axis, view_.inner, sizeof(double)});
    extents.writes(0, {view_.outer, view_.axis, view_.inner, sizeof(double)});
  }
  std::int64_t scratch_bytes() const override {
    return view_.axis * static_cast<std::int64_t>(sizeof(double));
  }
  double cost_ns() const override { return static_cast<double>(view_.elements()) * 6; }
  std::uint32_t in_place_inputs() const override { return 1; }

 private:
  void softmax(double* line) const {
    const double largest = *std::max_element(line, line + view_.axis);
    double sum = 0;
    for (std::int64_t k = 0; k < view_.axis; ++k) sum += line[k] = std::exp(line[k] - largest);
    for (std::int64_t k = 0; k < view_.axis; ++k) line[k] /= sum;
  }

  void log_softmax(double* line) const {
    const double largest = *std::max_element(line, line + view_.axis);
    double sum = 0;
    for (std::int64_t k = 0; k < view_.axis; ++k) sum += std::exp(line[k] - largest);
    const double logarithm = std::log(sum);
    for (std::int64_t k = 0; k < view_.axis; ++k) line[k] = line[k] - largest - logarithm;
  }

  AlongAxis view_;
  bool is_log_;
};

}  // namespace

std::unique_ptr<Kernel> make_double_softmax(const sluice_op& op, const AlongAxis& view,
                                            bool is_log) {
  return std::make_unique<DoubleSoftmax>(op, view, is_log);
}

}  // namespace sluice::cpu
