// MelWeightMatrix.

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "ops/operands/checks.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

enum MelInput { kBins, kLength, kRate, kLower, kUpper };

/// Triangles whose corners are equally far apart on the mel scale, in a matrix of zeros.
class MelWeights : public Kernel {
 public:
  explicit MelWeights(const sluice_op& op)
      : Kernel(op), rows_(op.outputs[0].tensor.dims[0]), bins_(op.outputs[0].tensor.dims[1]) {}

  bool is_serial() const override { return true; }

  void run(const Run& run, int, const Worker&) const override {
    const std::int64_t bins = integer(run, kBins);
    const std::int64_t length = integer(run, kLength);
    const auto rate = static_cast<double>(integer(run, kRate));
    if (bins != bins_ || length < 0 || length / 2 + 1 != rows_ || !(rate > 0)) {
      return run.fail(
          plugin::invalid_argument("MelWeightMatrix: its inputs do not give the output " +
                                   plugin::to_string(plugin::dims_of(op().outputs[0].tensor))));
    }
    auto* y = run.output<float>(0);
    std::fill_n(y, rows_ * bins_, 0.0F);
    const std::vector<std::int64_t> corners = find_corners(run, static_cast<double>(length), rate);
    for (std::int64_t i = 0; i < bins_; ++i) {
      const std::int64_t* at = corners.data() + i;
      fill_triangle(at[0], at[1], at[2], y + i);
    }
  }

  void extents(Extents& extents) const override {
    for (const int input : {kBins, kLength, kRate, kLower, kUpper}) {
      extents.reads(input, {element_bytes(op().inputs[input].tensor)});
    }
    extents.writes(0, {rows_, bins_, sizeof(float)});
  }
  double cost_ns() const override {
    return static_cast<double>(rows_ * bins_) * 0.05 + static_cast<double>(bins_) * 40;
  }

 private:
  std::int64_t integer(const Run& run, int input) const {
    if (op().inputs[input].tensor.element_type == plugin::kI32) {
      return *run.input<std::int32_t>(input);
    }
    return *run.input<std::int64_t>(input);
  }

  /// The rows of the corners: of bin i those at i, i + 1 and i + 2. A row outside is -1 or rows_.
  std::vector<std::int64_t> find_corners(const Run& run, double length, double rate) const {
    const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    const double low = to_mel(static_cast<double>(*run.input<float>(kLower)));
    const double high = to_mel(static_cast<double>(*run.input<float>(kUpper)));
    const double step = (high - low) / static_cast<double>(bins_ + 2);
    std::vector<std::int64_t> corners;
    for (std::int64_t i = 0; i < bins_ + 2; ++i) {
      const double mel = low + static_cast<double>(i) * step;
      const double hertz = 700 * (std::pow(10.0, mel / 2595) - 1);
      const double row = std::floor((length + 1) * hertz / rate);
      const double inside = std::clamp(row, -1.0, static_cast<double>(rows_));
      corners.push_back(std::isnan(row) ? -1 : static_cast<std::int64_t>(inside));
    }
    return corners;
  }

  /// `y` is the bin's column.
  void fill_triangle(std::int64_t left, std::int64_t centre, std::int64_t right, float* y) const {
    const auto set = [&](std::int64_t row, double value) {
      if (row >= 0 && row < rows_) y[row * bins_] = static_cast<float>(value);
    };
    if (left == centre) set(centre, 1);
    for (std::int64_t row = left; row <= centre && left != centre; ++row) {
      set(row, static_cast<double>(row - left) / static_cast<double>(centre - left));
    }
    for (std::int64_t row = centre; row < right; ++row) {
      set(row, static_cast<double>(right - row) / static_cast<double>(right - centre));
    }
  }

  std::int64_t rows_;
  std::int64_t bins_;
};

Status check_mel_weights(const sluice_op& op) {
  for (int i = 0; i < op.num_inputs; ++i) {
    const sluice_element_type type = op.inputs[i].tensor.element_type;
    const bool is_taken =
        i < kLower ? type == plugin::kI32 || type == plugin::kI64 : type == plugin::kF32;
    if (!is_taken) return unimplemented("numbers of another type");
  }
  const sluice_tensor& y = op.outputs[0].tensor;
  const bool is_fit = op.body == nullptr && y.element_type == plugin::kF32 && y.rank == 2;
  return is_fit ? plugin::ok() : unimplemented("a result that is no matrix of f32");
}

Status make_mel_weights(const sluice_op& op, Isa /*isa*/, std::unique_ptr<Kernel>* kernel) {
  for (const sluice_operand& input : plugin::inputs_of(op)) {
    if (plugin::num_elements(input.tensor) != 1) return unimplemented("inputs of several numbers");
  }
  *kernel = std::make_unique<MelWeights>(op);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> mel_weight_entries() {
  return {{.kind = "MelWeightMatrix",
           .check = check_mel_weights,
           .make = make_mel_weights,
           .num_required_inputs = 5}};
}

}  // namespace sluice::cpu
