// DFT and STFT of f32 by the fast Fourier transform.

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "ops/operands/checks.h"
#include "ops/operands/constants.h"
#include "ops/signal/fft_tables.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

/// Longer transforms run on the reference kernel: their tables would be larger than their data.
constexpr std::int64_t kMostPoints = std::int64_t{1} << 24;

/// The lines of an operation: line i reads from x_at(i) on and writes from y_at(i) on.
struct SpectrumLines {
  FftLines each;  ///< without addresses
  std::int64_t length = 0;
  std::int64_t count = 0;
  std::int64_t inner = 1;   ///< of a DFT: lines side by side, behind the axis
  std::int64_t frames = 0;  ///< of an STFT: lines of one signal; 0 for a DFT
  std::int64_t step = 0;    ///< points from a frame to the next
  std::int64_t signal = 0;  ///< points of one signal

  std::int64_t x_at(std::int64_t line) const {
    const std::int64_t point = frames > 0 ? line / frames * signal + line % frames * step
                                          : line / inner * each.points * inner + line % inner;
    return point * each.x_parts;
  }
  std::int64_t y_at(std::int64_t line) const {
    const std::int64_t point =
        frames > 0 ? line * each.bins : line / inner * each.bins * inner + line % inner;
    return point * each.y_parts;
  }
};

class Spectrum : public Kernel {
 public:
  Spectrum(const sluice_op& op, Isa isa, const SpectrumLines& lines, int window)
      : Kernel(op),
        isa_(isa),
        tables_(lines.length),
        lines_(lines),
        window_(window),
        lanes_(SLUICE_CPU_PICK(isa, fft_lanes)()) {}

  void run(const Run& run, int, const Worker& worker) const override {
    FftLines lines = lines_.each;
    if (window_ >= 0) lines.window = run.input<float>(window_);
    const std::int64_t groups = (lines_.count + lanes_ - 1) / lanes_;
    const Share share = share_of(groups, 1, worker);
    for (std::int64_t group = share.begin; group < share.end; ++group) {
      const std::int64_t first = group * lanes_;
      lines.count = static_cast<int>(std::min<std::int64_t>(lanes_, lines_.count - first));
      for (int i = 0; i < lines.count; ++i) {
        lines.x[i] = run.input<float>(0) + lines_.x_at(first + i);
        lines.y[i] = run.output<float>(0) + lines_.y_at(first + i);
      }
      SLUICE_CPU_PICK(isa_, run_fft)
      (tables_.plan(), lines, reinterpret_cast<double*>(worker.scratch));
    }
  }

  void extents(Extents& extents) const override {
    const FftLines& each = lines_.each;
    const std::int64_t signals = lines_.frames > 0 ? lines_.count / lines_.frames : 0;
    const std::int64_t points =
        lines_.frames > 0 ? signals * lines_.signal : lines_.count * each.points;
    extents.reads(0, {points, each.x_parts, sizeof(float)});
    if (window_ >= 0) extents.reads(window_, {lines_.length, sizeof(float)});
    extents.writes(0, {lines_.count, each.bins, each.y_parts, sizeof(float)});
  }
  std::int64_t scratch_bytes() const override {
    return SLUICE_CPU_PICK(isa_, fft_scratch_bytes)(tables_.plan());
  }
  double cost_ns() const override {
    return tables_.operations() * static_cast<double>(lines_.count) * 0.3;
  }

 private:
  Isa isa_;
  FftTables tables_;
  SpectrumLines lines_;
  int window_;
  int lanes_;
};

/// The only value of a constant input; `fallback` if it is absent.
std::optional<std::int64_t> constant_scalar(const sluice_op& op, int input, std::int64_t fallback) {
  Dims values;
  if (!has_input(op, input)) return fallback;
  if (!constant_integers(op, input, &values) || values.size() != 1) return std::nullopt;
  return values[0];
}

bool holds_parts(const sluice_tensor& tensor) {
  return tensor.rank >= 2 &&
         (tensor.dims[tensor.rank - 1] == 1 || tensor.dims[tensor.rank - 1] == 2);
}

// ---- DFT

Status check_dft(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  const auto axis = constant_scalar(op, 2, -2);
  if (!axis || !constant_scalar(op, 1, 1)) return unimplemented("a length or an axis at run time");
  if (*axis < -x.rank || *axis >= x.rank || from_front(*axis, x.rank) == x.rank - 1) {
    return unimplemented("the axis does not fit");
  }
  const sluice_tensor& y = op.outputs[0].tensor;
  if (x.element_type != plugin::kF32 || y.element_type != plugin::kF32 || y.rank != x.rank) {
    return unimplemented("not f32");
  }
  return holds_parts(x) ? plugin::ok() : unimplemented("parts of numbers that are not known");
}

Status make_dft(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const plugin::Attributes attributes(op);
  const std::int64_t axis = from_front(*constant_scalar(op, 2, -2), x.rank);
  const bool is_one_sided = attributes.get_int("onesided") != 0;
  SpectrumLines lines;
  FftLines& each = lines.each;
  each.is_inverse = attributes.get_int("inverse") != 0;
  each.is_mirrored = is_one_sided && each.is_inverse;
  each.points = x.dims[axis];
  lines.length = *constant_scalar(op, 1, each.is_mirrored ? 2 * (each.points - 1) : each.points);
  if (lines.length < 1 || lines.length > kMostPoints) return unimplemented("such a length");
  each.bins = is_one_sided && !each.is_inverse ? lines.length / 2 + 1 : lines.length;
  each.x_parts = static_cast<int>(x.dims[x.rank - 1]);
  each.y_parts = each.is_mirrored ? 1 : 2;
  lines.inner = product(dims_of(x), axis + 1, x.rank - 1);
  const std::int64_t outer = product(dims_of(x), 0, axis);
  if (lines.inner < 1 || outer < 1 || each.points < 1) return unimplemented("DFT of nothing");
  lines.count = outer * lines.inner;
  each.x_step = lines.inner * each.x_parts;
  each.y_step = lines.inner * each.y_parts;
  Dims expected(dims_of(x).begin(), dims_of(x).end());
  expected[static_cast<std::size_t>(axis)] = each.bins;
  expected.back() = each.y_parts;
  if (!std::ranges::equal(expected, dims_of(op.outputs[0].tensor))) {
    return unimplemented("a result of another shape");
  }
  *kernel = std::make_unique<Spectrum>(op, isa, lines, -1);
  return plugin::ok();
}

// ---- STFT

Status check_stft(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_tensor& x = op.inputs[0].tensor;
  if (!constant_scalar(op, 1, 1) || !constant_scalar(op, 3, 1)) {
    return unimplemented("frames at run time");
  }
  const bool is_known = x.rank == 2 || (x.rank == 3 && holds_parts(x));
  if (!is_known || op.outputs[0].tensor.rank != 4) return unimplemented("other ranks");
  const auto is_f32 = [&](const sluice_tensor& t) { return t.element_type == plugin::kF32; };
  if (!is_f32(x) || !is_f32(op.outputs[0].tensor) ||
      (has_input(op, 2) && !is_f32(op.inputs[2].tensor))) {
    return unimplemented("not f32");
  }
  return plugin::ok();
}

Status make_stft(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  const sluice_tensor& x = op.inputs[0].tensor;
  const sluice_tensor& y = op.outputs[0].tensor;
  const std::int64_t window = has_input(op, 2) ? plugin::num_elements(op.inputs[2].tensor) : 0;
  SpectrumLines lines;
  lines.length = *constant_scalar(op, 3, window);
  lines.step = *constant_scalar(op, 1, 0);
  lines.signal = x.dims[1];
  lines.frames = y.dims[1];
  lines.count = x.dims[0] * lines.frames;
  FftLines& each = lines.each;
  each.x_parts = x.rank == 3 ? static_cast<int>(x.dims[2]) : 1;
  each.x_step = each.x_parts;
  each.points = lines.length;
  each.bins = y.dims[2];
  const bool fits = lines.length >= 1 && lines.length <= std::min(lines.signal, kMostPoints) &&
                    lines.step >= 1 && lines.step <= lines.signal && lines.frames >= 1 &&
                    lines.frames <= (lines.signal - lines.length) / lines.step + 1 &&
                    (window == 0 || window == lines.length) && each.bins >= 1 &&
                    each.bins <= lines.length && y.dims[0] == x.dims[0] && y.dims[3] == 2 &&
                    x.dims[0] >= 1;
  if (!fits) return unimplemented("frames that do not fit");
  *kernel = std::make_unique<Spectrum>(op, isa, lines, window > 0 ? 2 : -1);
  return plugin::ok();
}

}  // namespace

std::vector<OpEntry> spectrum_entries() {
  return {{.kind = "DFT", .check = check_dft, .make = make_dft},
          {.kind = "STFT", .check = check_stft, .make = make_stft, .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
