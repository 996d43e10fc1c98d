#include "kernels/signal/fft.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

using VecD = double __attribute__((vector_size(SLUICE_CPU_VECTOR_BYTES)));

/// A complex number of each lane.
struct Complex {
  VecD re;
  VecD im;
};

constexpr int kWide = kLanes / 2;           ///< lanes of doubles
constexpr std::int64_t kPoint = 2 * kWide;  ///< doubles of a point of all lanes

SLUICE_CPU_INLINE VecD load_wide(const double* p) {
  VecD v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
SLUICE_CPU_INLINE void store_wide(double* p, VecD v) { __builtin_memcpy(p, &v, sizeof v); }

SLUICE_CPU_INLINE Complex get(const double* p) { return {load_wide(p), load_wide(p + kWide)}; }
SLUICE_CPU_INLINE void put(double* p, Complex z) {
  store_wide(p, z.re);
  store_wide(p + kWide, z.im);
}
SLUICE_CPU_INLINE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
SLUICE_CPU_INLINE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
SLUICE_CPU_INLINE Complex scaled(Complex a, double f) { return {a.re * f, a.im * f}; }
/// a * -i.
SLUICE_CPU_INLINE Complex turned(Complex a) { return {a.im, -a.re}; }
SLUICE_CPU_INLINE Complex times(Complex a, const double* w) {
  return {a.re * w[0] - a.im * w[1], a.im * w[0] + a.re * w[1]};
}

/// The transform of kRadix points: a'[k] = sum over j of a[j] * exp(-2 pi i j k / kRadix). Sums and
/// differences of points j and kRadix - j share the products with cosines and with sines. The
/// constants are sin(2 pi / 3); cos(2 pi / 5) and -cos(4 pi / 5); sin(2 pi / 5) and sin(4 pi / 5).
template <int kRadix>
SLUICE_CPU_INLINE void butterfly(Complex (&a)[kRadix]) {
  if constexpr (kRadix == 2) {
    const Complex sum = a[0] + a[1];
    a[1] = a[0] - a[1];
    a[0] = sum;
  }
  if constexpr (kRadix == 3) {
    const Complex sum = a[1] + a[2];
    const Complex turn = scaled(turned(a[1] - a[2]), 0.86602540378443864676);
    const Complex middle = a[0] - scaled(sum, 0.5);
    a[0] = a[0] + sum;
    a[1] = middle + turn;
    a[2] = middle - turn;
  }
  if constexpr (kRadix == 4) {
    const Complex even = a[0] + a[2];
    const Complex even_less = a[0] - a[2];
    const Complex odd = a[1] + a[3];
    const Complex odd_less = turned(a[1] - a[3]);
    a[0] = even + odd;
    a[1] = even_less + odd_less;
    a[2] = even - odd;
    a[3] = even_less - odd_less;
  }
  if constexpr (kRadix == 5) {
    const Complex s1 = a[1] + a[4];
    const Complex s2 = a[2] + a[3];
    const Complex d1 = turned(a[1] - a[4]);
    const Complex d2 = turned(a[2] - a[3]);
    const Complex m1 =
        a[0] + scaled(s1, 0.30901699437494742410) - scaled(s2, 0.80901699437494742410);
    const Complex m2 =
        a[0] - scaled(s1, 0.80901699437494742410) + scaled(s2, 0.30901699437494742410);
    const Complex t1 = scaled(d1, 0.95105651629515357212) + scaled(d2, 0.58778525229247312917);
    const Complex t2 = scaled(d1, 0.58778525229247312917) - scaled(d2, 0.95105651629515357212);
    a[0] = a[0] + s1 + s2;
    a[1] = m1 + t1;
    a[2] = m2 + t2;
    a[3] = m2 - t2;
    a[4] = m1 - t1;
  }
}

/// One stage over transforms of `n` points, `stride` of which lie interleaved.
template <int kRadix>
void run_stage(std::int64_t n, std::int64_t stride, const double* twiddles, const double* x,
               double* y) {
  const std::int64_t part = n / kRadix;
  for (std::int64_t q = 0; q < part; ++q) {
    const double* w = twiddles + q * (kRadix - 1) * 2;
    for (std::int64_t k = 0; k < stride; ++k) {
      Complex a[kRadix];
      SLUICE_CPU_UNROLL
      for (int r = 0; r < kRadix; ++r) a[r] = get(x + (k + stride * (q + part * r)) * kPoint);
      butterfly(a);
      double* to = y + (k + stride * kRadix * q) * kPoint;
      put(to, a[0]);
      SLUICE_CPU_UNROLL
      for (int r = 1; r < kRadix; ++r) put(to + stride * r * kPoint, times(a[r], w + (r - 1) * 2));
    }
  }
}

/// The same for a radix without code of its own.
void run_any_stage(int radix, std::int64_t n, std::int64_t stride, const double* twiddles,
                   const double* roots, const double* x, double* y) {
  const std::int64_t part = n / radix;
  for (std::int64_t q = 0; q < part; ++q) {
    for (std::int64_t k = 0; k < stride; ++k) {
      for (int r = 0; r < radix; ++r) {
        Complex sum = get(x + (k + stride * q) * kPoint);
        for (int j = 1; j < radix; ++j) {
          const Complex term = get(x + (k + stride * (q + part * j)) * kPoint);
          sum = sum + times(term, roots + (r * radix + j) * 2);
        }
        if (r > 0) sum = times(sum, twiddles + (q * (radix - 1) + r - 1) * 2);
        put(y + (k + stride * (radix * q + r)) * kPoint, sum);
      }
    }
  }
}

/// Transforms what is in `a`, with room in `b`; returns which of the two holds the result.
double* run_stages(const FftStages& stages, double* a, double* b) {
  std::int64_t n = stages.length;
  std::int64_t stride = 1;
  for (int i = 0; i < stages.count; ++i) {
    const int radix = stages.radix[i];
    switch (radix) {
      case 2: run_stage<2>(n, stride, stages.twiddles[i], a, b); break;
      case 3: run_stage<3>(n, stride, stages.twiddles[i], a, b); break;
      case 4: run_stage<4>(n, stride, stages.twiddles[i], a, b); break;
      case 5: run_stage<5>(n, stride, stages.twiddles[i], a, b); break;
      default: run_any_stage(radix, n, stride, stages.twiddles[i], stages.roots[i], a, b);
    }
    n /= radix;
    stride *= radix;
    double* const done = b;
    b = a;
    a = done;
  }
  return a;
}

/// Point `n` of line `lane`, whose imaginary part counts as negative in a mirrored half.
SLUICE_CPU_INLINE void read_point(const FftLines& lines, int lane, std::int64_t n, double sign,
                                  double* to) {
  const float* from = lines.x[lane] + n * lines.x_step;
  const double factor = lines.window == nullptr ? 1 : static_cast<double>(lines.window[n]);
  const double re = static_cast<double>(from[0]) * factor;
  const double im = lines.x_parts == 2 ? sign * static_cast<double>(from[1]) * factor : 0;
  // The inverse transform is the transform with the parts exchanged before and after it.
  to[lane] = lines.is_inverse ? im : re;
  to[kWide + lane] = lines.is_inverse ? re : im;
}

void read_lines(const FftLines& lines, std::int64_t length, double* to) {
  const std::int64_t half = length / 2 + 1;
  for (std::int64_t n = 0; n < length; ++n, to += kPoint) {
    const bool is_mirror = lines.is_mirrored && n >= half;
    const std::int64_t from = is_mirror ? length - n : n;
    const int count = from < lines.points ? lines.count : 0;
    for (int lane = 0; lane < count; ++lane) {
      read_point(lines, lane, from, is_mirror ? -1 : 1, to);
    }
    for (int lane = count; lane < kWide; ++lane) to[lane] = to[kWide + lane] = 0;
  }
}

void write_lines(const FftLines& lines, double scale, const double* from) {
  for (std::int64_t n = 0; n < lines.bins; ++n, from += kPoint) {
    const double* re = lines.is_inverse ? from + kWide : from;
    const double* im = lines.is_inverse ? from : from + kWide;
    for (int lane = 0; lane < lines.count; ++lane) {
      float* to = lines.y[lane] + n * lines.y_step;
      to[0] = static_cast<float>(re[lane] * scale);
      if (lines.y_parts == 2) to[1] = static_cast<float>(im[lane] * scale);
    }
  }
}

/// The transform as a convolution: multiplied by a chirp, convolved with its inverse, multiplied.
double* run_chirp(const FftPlan& plan, double* a, double* b) {
  for (std::int64_t n = 0; n < plan.length; ++n) {
    put(a + n * kPoint, times(get(a + n * kPoint), plan.chirp + n * 2));
  }
  for (std::int64_t n = plan.length; n < plan.stages.length; ++n)
    put(a + n * kPoint, Complex{VecD{}, VecD{}});
  double* spectrum = run_stages(plan.stages, a, b);
  double* other = spectrum == a ? b : a;
  for (std::int64_t n = 0; n < plan.stages.length; ++n) {
    const Complex z = times(get(spectrum + n * kPoint), plan.filter + n * 2);
    // Exchanged parts make the second transform the inverse one; they are exchanged back below.
    put(spectrum + n * kPoint, {z.im, z.re});
  }
  double* result = run_stages(plan.stages, spectrum, other);
  for (std::int64_t n = 0; n < plan.length; ++n) {
    const Complex z = get(result + n * kPoint);
    put(result + n * kPoint, times({z.im, z.re}, plan.chirp + n * 2));
  }
  return result;
}

}  // namespace

int fft_lanes() { return kWide; }

std::int64_t fft_scratch_bytes(const FftPlan& plan) {
  return 2 * plan.stages.length * kPoint * static_cast<std::int64_t>(sizeof(double));
}

void run_fft(const FftPlan& plan, const FftLines& lines, double* scratch) {
  double* a = scratch;
  double* b = scratch + plan.stages.length * kPoint;
  read_lines(lines, plan.length, a);
  const double* result =
      plan.chirp == nullptr ? run_stages(plan.stages, a, b) : run_chirp(plan, a, b);
  write_lines(lines, lines.is_inverse ? 1.0 / static_cast<double>(plan.length) : 1.0, result);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
