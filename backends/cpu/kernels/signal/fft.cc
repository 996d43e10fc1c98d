#include "kernels/signal/fft.h"

#include "core/simd.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

/// A complex number of each lane.
struct Complex {
  Vec re;
  Vec im;
};

constexpr std::int64_t kPoint = 2 * kLanes;  ///< floats of a point of all lanes

SLUICE_CPU_INLINE Complex get(const float* p) { return {load(p), load(p + kLanes)}; }
SLUICE_CPU_INLINE void put(float* p, Complex z) {
  store(p, z.re);
  store(p + kLanes, z.im);
}
SLUICE_CPU_INLINE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
SLUICE_CPU_INLINE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
SLUICE_CPU_INLINE Complex scaled(Complex a, float f) {
  return {a.re * broadcast(f), a.im * broadcast(f)};
}
/// a * -i.
SLUICE_CPU_INLINE Complex turned(Complex a) { return {a.im, -a.re}; }
SLUICE_CPU_INLINE Complex times(Complex a, const float* w) {
  const Vec re = broadcast(w[0]);
  const Vec im = broadcast(w[1]);
  return {fnmadd(a.im, im, a.re * re), fmadd(a.im, re, a.re * im)};
}

template <int kRadix>
SLUICE_CPU_INLINE void butterfly(Complex (&a)[kRadix]) {
  if constexpr (kRadix == 2) {
    const Complex sum = a[0] + a[1];
    a[1] = a[0] - a[1];
    a[0] = sum;
  }
  if constexpr (kRadix == 3) {
    const Complex sum = a[1] + a[2];
    const Complex turn = scaled(turned(a[1] - a[2]), 0.866025404f);
    const Complex middle = a[0] - scaled(sum, 0.5f);
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
    const Complex m1 = a[0] + scaled(s1, 0.309016994f) - scaled(s2, 0.809016994f);
    const Complex m2 = a[0] - scaled(s1, 0.809016994f) + scaled(s2, 0.309016994f);
    const Complex t1 = scaled(d1, 0.951056516f) + scaled(d2, 0.587785252f);
    const Complex t2 = scaled(d1, 0.587785252f) - scaled(d2, 0.951056516f);
    a[0] = a[0] + s1 + s2;
    a[1] = m1 + t1;
    a[2] = m2 + t2;
    a[3] = m2 - t2;
    a[4] = m1 - t1;
  }
}

/// One stage over transforms of `n` points, `stride` of which lie interleaved.
template <int kRadix>
void run_stage(std::int64_t n, std::int64_t stride, const float* twiddles, const float* x,
               float* y) {
  const std::int64_t part = n / kRadix;
  for (std::int64_t q = 0; q < part; ++q) {
    const float* w = twiddles + q * (kRadix - 1) * 2;
    for (std::int64_t k = 0; k < stride; ++k) {
      Complex a[kRadix];
      SLUICE_CPU_UNROLL
      for (int r = 0; r < kRadix; ++r) a[r] = get(x + (k + stride * (q + part * r)) * kPoint);
      butterfly(a);
      float* to = y + (k + stride * kRadix * q) * kPoint;
      put(to, a[0]);
      SLUICE_CPU_UNROLL
      for (int r = 1; r < kRadix; ++r) put(to + stride * r * kPoint, times(a[r], w + (r - 1) * 2));
    }
  }
}

/// The same for a radix without code of its own.
void run_any_stage(int radix, std::int64_t n, std::int64_t stride, const float* twiddles,
                   const float* roots, const float* x, float* y) {
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
float* run_stages(const FftStages& stages, float* a, float* b) {
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
    float* const done = b;
    b = a;
    a = done;
  }
  return a;
}

/// Point `n` of line `lane`, whose imaginary part counts as negative in a mirrored half.
SLUICE_CPU_INLINE void read_point(const FftLines& lines, int lane, std::int64_t n, float sign,
                                  float* to) {
  const float* from = lines.x[lane] + n * lines.x_step;
  const float factor = lines.window == nullptr ? 1 : lines.window[n];
  const float re = from[0] * factor;
  const float im = lines.x_parts == 2 ? sign * from[1] * factor : 0;
  // The inverse transform is the transform with the parts exchanged before and after it.
  to[lane] = lines.is_inverse ? im : re;
  to[kLanes + lane] = lines.is_inverse ? re : im;
}

void read_lines(const FftLines& lines, std::int64_t length, float* to) {
  const std::int64_t half = length / 2 + 1;
  for (std::int64_t n = 0; n < length; ++n, to += kPoint) {
    const bool is_mirror = lines.is_mirrored && n >= half;
    const std::int64_t from = is_mirror ? length - n : n;
    const int count = from < lines.points ? lines.count : 0;
    for (int lane = 0; lane < count; ++lane) {
      read_point(lines, lane, from, is_mirror ? -1 : 1, to);
    }
    for (int lane = count; lane < kLanes; ++lane) to[lane] = to[kLanes + lane] = 0;
  }
}

void write_lines(const FftLines& lines, float scale, const float* from) {
  for (std::int64_t n = 0; n < lines.bins; ++n, from += kPoint) {
    const float* re = lines.is_inverse ? from + kLanes : from;
    const float* im = lines.is_inverse ? from : from + kLanes;
    for (int lane = 0; lane < lines.count; ++lane) {
      float* to = lines.y[lane] + n * lines.y_step;
      to[0] = re[lane] * scale;
      if (lines.y_parts == 2) to[1] = im[lane] * scale;
    }
  }
}

/// The transform as a convolution: multiplied by a chirp, convolved with its inverse, multiplied.
float* run_chirp(const FftPlan& plan, float* a, float* b) {
  for (std::int64_t n = 0; n < plan.length; ++n) {
    put(a + n * kPoint, times(get(a + n * kPoint), plan.chirp + n * 2));
  }
  for (std::int64_t n = plan.length; n < plan.stages.length; ++n) put(a + n * kPoint, Complex{Vec{}, Vec{}});
  float* spectrum = run_stages(plan.stages, a, b);
  float* other = spectrum == a ? b : a;
  for (std::int64_t n = 0; n < plan.stages.length; ++n) {
    const Complex z = times(get(spectrum + n * kPoint), plan.filter + n * 2);
    put(spectrum + n * kPoint, {z.im, z.re});
  }
  float* result = run_stages(plan.stages, spectrum, other);
  for (std::int64_t n = 0; n < plan.length; ++n) {
    const Complex z = get(result + n * kPoint);
    put(result + n * kPoint, times({z.im, z.re}, plan.chirp + n * 2));
  }
  return result;
}

}  // namespace

int fft_lanes() { return kLanes; }

std::int64_t fft_scratch_bytes(const FftPlan& plan) {
  return 2 * plan.stages.length * kPoint * static_cast<std::int64_t>(sizeof(float));
}

void run_fft(const FftPlan& plan, const FftLines& lines, float* scratch) {
  float* a = scratch;
  float* b = scratch + plan.stages.length * kPoint;
  read_lines(lines, plan.length, a);
  const float* result =
      plan.chirp == nullptr ? run_stages(plan.stages, a, b) : run_chirp(plan, a, b);
  write_lines(lines, lines.is_inverse ? 1.0f / static_cast<float>(plan.length) : 1.0f, result);
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
