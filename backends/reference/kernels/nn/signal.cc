// DFT, STFT, MelWeightMatrix, window functions. Transforms compute the sums of the definition.
#include <cmath>
#include <complex>
#include <numbers>

#include "reference/families.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

using Complex = std::complex<double>;
constexpr double kTwoPi = 2 * std::numbers::pi;

/// Bin `bin` of the transform of `x`, cut or extended with zeros to `length`.
Complex transform(std::span<const Complex> x, std::int64_t length, std::int64_t bin,
                  bool is_inverse) {
  Complex sum = 0;
  const std::int64_t count = std::min(length, static_cast<std::int64_t>(x.size()));
  // Whole turns do not count, and without them the angle keeps its digits.
  for (std::int64_t n = 0; n < count; ++n) {
    const double turn = static_cast<double>(bin * n % length) / static_cast<double>(length);
    sum += x[index(n)] * std::polar(1.0, (is_inverse ? kTwoPi : -kTwoPi) * turn);
  }
  return is_inverse ? sum / static_cast<double>(length) : sum;
}

/// Elements of [..., 1 or 2] as complex numbers.
std::vector<Complex> read_complex(const sluice_tensor& tensor, std::int64_t parts) {
  const std::vector<double> values = read_doubles(tensor);
  std::vector<Complex> result;
  for (std::size_t i = 0; i + index(parts) <= values.size(); i += index(parts)) {
    result.emplace_back(values[i], parts == 2 ? values[i + 1] : 0.0);
  }
  return result;
}

Status write_complex(const Call& call, const std::vector<Complex>& values) {
  std::vector<double> parts;
  for (const Complex& value : values) {
    parts.push_back(value.real());
    parts.push_back(value.imag());
  }
  return write_doubles(call, 0, parts);
}

/// The one integer of an optional input.
std::int64_t scalar_or(const Call& call, int input, std::int64_t fallback) {
  const std::vector<std::int64_t> values = read_ints(call.input(input));
  return values.size() == 1 ? values[0] : fallback;
}

/// How a DFT walks its tensors: lines of `points` along the axis become lines of `bins`.
struct DftPlan {
  std::int64_t points = 0, bins = 0, length = 0, outer = 0, inner = 0;
  bool is_inverse = false;
  bool gives_reals = false;  ///< from half a spectrum, whose other half mirrors it
};

Status plan_dft(const Call& call, DftPlan* plan) {
  const Dims x = input_dims(call, 0);
  if (x.size() < 2 || (x.back() != 1 && x.back() != 2)) {
    return refuse(call, "the last axis must hold 1 or 2 parts");
  }
  const std::int64_t axis = wrap_axis(scalar_or(call, 2, -2), x.size());
  if (axis < 0 || index(axis) + 1 == x.size()) return refuse(call, "the axis does not fit");
  const bool is_one_sided = call.attributes().get_int("onesided") != 0;
  plan->is_inverse = call.attributes().get_int("inverse") != 0;
  plan->gives_reals = is_one_sided && plan->is_inverse;
  plan->points = x[index(axis)];
  plan->length = scalar_or(call, 1, plan->gives_reals ? 2 * (plan->points - 1) : plan->points);
  if (plan->length < 1 || plan->length > (std::int64_t{1} << 31)) {
    return refuse(call, "a length of " + std::to_string(plan->length) + " does not fit");
  }
  plan->bins = is_one_sided && !plan->is_inverse ? plan->length / 2 + 1 : plan->length;
  plan->outer = size_of(x.first(index(axis)));
  plan->inner = size_of(x.subspan(index(axis) + 1)) / x.back();
  std::vector<std::int64_t> expected(x.begin(), x.end());
  expected[index(axis)] = plan->bins;
  expected.back() = plan->gives_reals ? 1 : 2;
  return check_dims(call, call.output(0), expected, "output");
}

/// The whole spectrum of real numbers from its first half.
void mirror(std::vector<Complex>& line, std::int64_t length) {
  line.resize(index(length / 2 + 1));
  // Bin k of real numbers is the conjugate of bin length - k.
  for (std::int64_t k = length / 2 + 1; k < length; ++k) {
    line.push_back(std::conj(line[index(length - k)]));
  }
}

Status run_dft(const Call& call) {
  DftPlan plan;
  if (Status status = plan_dft(call, &plan); !status.is_ok()) return status;
  const std::vector<Complex> values = read_complex(call.input(0), input_dims(call, 0).back());
  const auto points = index(plan.points);
  if (values.size() != index(plan.outer * plan.inner) * points)
    return refuse_model(call, "unknown type");
  std::vector<Complex> result(index(plan.outer * plan.bins * plan.inner));
  for (std::int64_t o = 0; o < plan.outer; ++o) {
    for (std::int64_t i = 0; i < plan.inner; ++i) {
      std::vector<Complex> line(points);
      for (std::size_t n = 0; n < points; ++n) {
        line[n] = values[(index(o) * points + n) * index(plan.inner) + index(i)];
      }
      if (plan.gives_reals) mirror(line, plan.length);
      for (std::int64_t k = 0; k < plan.bins; ++k) {
        result[index((o * plan.bins + k) * plan.inner + i)] =
            transform(line, plan.length, k, plan.is_inverse);
      }
    }
  }
  if (!plan.gives_reals) return write_complex(call, result);
  std::vector<double> reals;
  for (const Complex& value : result) reals.push_back(value.real());
  return write_doubles(call, 0, reals);
}

Status run_stft(const Call& call) {
  const Dims x = input_dims(call, 0);
  const Dims y = output_dims(call, 0);
  const std::int64_t parts = x.size() == 3 ? x[2] : 1;
  if (x.size() < 2 || x.size() > 3 || parts < 1 || parts > 2 || y.size() != 4 || y[0] != x[0] ||
      y[3] != 2) {
    return refuse(call, "signal and output do not fit");
  }
  std::vector<double> window = read_doubles(call.input(2));
  const std::int64_t length = scalar_or(call, 3, static_cast<std::int64_t>(window.size()));
  const std::int64_t step = scalar_or(call, 1, 0);
  if (length < 1 || length > x[1] || step < 1 || step > x[1]) {
    return refuse(call, "frame_length and frame_step do not fit");
  }
  if (window.empty()) window.assign(index(length), 1.0);
  const std::vector<Complex> values = read_complex(call.input(0), parts);
  if (window.size() != index(length) || values.size() != index(x[0] * x[1]) ||
      y[1] > (x[1] - length) / step + 1 || y[2] > length) {
    return refuse(call, "window, frames and output do not fit");
  }
  std::vector<Complex> result;
  std::vector<Complex> frame(index(length));
  for (std::int64_t bf = 0; bf < y[0] * y[1]; ++bf) {
    const std::int64_t first = bf / y[1] * x[1] + bf % y[1] * step;
    for (std::size_t n = 0; n < frame.size(); ++n) frame[n] = values[index(first) + n] * window[n];
    for (std::int64_t k = 0; k < y[2]; ++k) result.push_back(transform(frame, length, k, false));
  }
  return write_complex(call, result);
}

/// Triangles whose corners are equally far apart on the mel scale.
Status run_mel_weight_matrix(const Call& call) {
  const std::int64_t bins = scalar_or(call, 0, 0);
  const std::int64_t length = scalar_or(call, 1, 0);
  const auto rate = static_cast<double>(scalar_or(call, 2, 0));
  const std::vector<double> lower = read_doubles(call.input(3));
  const std::vector<double> upper = read_doubles(call.input(4));
  if (bins < 0 || length < 0 || rate <= 0 || lower.size() != 1 || upper.size() != 1) {
    return refuse(call, "its inputs are scalars that are not negative");
  }
  const std::int64_t rows = length / 2 + 1;
  if (Status status = check_dims(call, call.output(0), std::array{rows, bins}, "output");
      !status.is_ok()) {
    return status;
  }
  const auto to_mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = to_mel(lower[0]);
  const double step = (to_mel(upper[0]) - low) / static_cast<double>(bins + 2);
  const auto corner = [&](std::int64_t i) {
    const double hertz = 700 * (std::pow(10.0, (low + static_cast<double>(i) * step) / 2595) - 1);
    const double row = std::floor((static_cast<double>(length) + 1) * hertz / rate);
    if (std::isnan(row)) return std::int64_t{-1};
    return static_cast<std::int64_t>(std::clamp(row, -1.0, static_cast<double>(rows)));
  };
  std::vector<double> y(index(rows * bins), 0.0);
  const auto set = [&](std::int64_t row, std::int64_t bin, double value) {
    if (row >= 0 && row < rows) y[index(row * bins + bin)] = value;
  };
  for (std::int64_t i = 0; i < bins; ++i) {
    const std::int64_t left = corner(i);
    const std::int64_t centre = corner(i + 1);
    const std::int64_t right = corner(i + 2);
    if (left == centre) set(centre, i, 1);
    for (std::int64_t row = left; row <= centre && left != centre; ++row) {
      set(row, i, static_cast<double>(row - left) / static_cast<double>(centre - left));
    }
    for (std::int64_t row = centre; row < right; ++row) {
      set(row, i, static_cast<double>(right - row) / static_cast<double>(right - centre));
    }
  }
  return write_doubles(call, 0, y);
}

/// a - b cos(2 pi n / N) + c cos(4 pi n / N). As the standard defines it, one sample that is not
/// periodic has N = 0 and is NaN.
Status run_window(const Call& call, double a, double b, double c) {
  const auto size = plugin::num_elements(call.output(0));
  const bool is_periodic = call.attributes().get_int("periodic", 1) != 0;
  const std::int64_t period = is_periodic ? size : size - 1;
  std::vector<double> y;
  for (std::int64_t n = 0; n < size; ++n) {
    if (2 * n > period) {  // the second half is the first one, backwards
      y.push_back(y[static_cast<std::size_t>(period - n)]);
      continue;
    }
    const double angle = kTwoPi * static_cast<double>(n) / static_cast<double>(period);
    const double twice = c == 0 ? 0 : c * std::cos(2 * angle);
    y.push_back(a - b * std::cos(angle) + twice);
  }
  return write_doubles(call, 0, y);
}

Status run_hann(const Call& call) { return run_window(call, 0.5, 0.5, 0); }
Status run_hamming(const Call& call) { return run_window(call, 25.0 / 46, 21.0 / 46, 0); }
Status run_blackman(const Call& call) { return run_window(call, 0.42, 0.5, 0.08); }

}  // namespace

std::vector<KernelEntry> signal_kernels() {
  return {{.kind = "DFT", .run = run_dft},
          {.kind = "STFT", .run = run_stft},
          {.kind = "MelWeightMatrix", .run = run_mel_weight_matrix},
          {.kind = "HannWindow", .run = run_hann},
          {.kind = "HammingWindow", .run = run_hamming},
          {.kind = "BlackmanWindow", .run = run_blackman}};
}

}  // namespace sluice::reference
