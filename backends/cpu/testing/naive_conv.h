#pragma once

// Convolution by plain loops in double precision: what the convolution kernels are tested against.

#include <algorithm>
#include <string>
#include <vector>

#include "conv/direct/conv_plan.h"
#include "testing/layout_testing.h"

namespace sluice::cpu::testing {

struct ConvCase {
  ConvShape shape;
  ConvEpilogue epilogue;
  std::vector<float> input, weights, bias, residual;

  ConvCase(const ConvShape& s, const ConvEpilogue& e) : shape(s), epilogue(e) {
    const Extent out = s.output();
    input = random_floats(s.batch * s.in_channels * s.input.h * s.input.w, 1);
    weights = random_floats(s.out_channels * s.in_channels / s.groups * s.kernel.h * s.kernel.w, 2);
    bias = random_floats(s.out_channels, 3);
    residual = random_floats(s.batch * s.out_channels * out.h * out.w, 4);
  }
};

inline float bounded(const ConvEpilogue& e, double x) {
  return static_cast<float>(std::clamp<double>(x, e.bounds.low, e.bounds.high));
}

inline double naive_sum(const ConvCase& c, std::int64_t n, std::int64_t oc, std::int64_t y,
                        std::int64_t x) {
  const ConvShape& s = c.shape;
  const std::int64_t in_per_group = s.in_channels / s.groups;
  const std::int64_t first_in = oc / (s.out_channels / s.groups) * in_per_group;
  double sum = c.bias[static_cast<std::size_t>(oc)];
  for (std::int64_t i = 0; i < in_per_group; ++i) {
    for (std::int64_t kh = 0; kh < s.kernel.h; ++kh) {
      for (std::int64_t kw = 0; kw < s.kernel.w; ++kw) {
        const std::int64_t iy = y * s.stride.h + kh * s.dilation.h - s.pad_begin.h;
        const std::int64_t ix = x * s.stride.w + kw * s.dilation.w - s.pad_begin.w;
        if (iy < 0 || ix < 0 || iy >= s.input.h || ix >= s.input.w) continue;
        const std::int64_t in =
            ((n * s.in_channels + first_in + i) * s.input.h + iy) * s.input.w + ix;
        const std::int64_t w = ((oc * in_per_group + i) * s.kernel.h + kh) * s.kernel.w + kw;
        sum += static_cast<double>(c.input[static_cast<std::size_t>(in)]) *
               static_cast<double>(c.weights[static_cast<std::size_t>(w)]);
      }
    }
  }
  return sum;
}

/// Without the epilogue.
inline std::vector<float> naive_sums(const ConvCase& c) {
  const ConvShape& s = c.shape;
  const Extent out = s.output();
  std::vector<float> result;
  for (std::int64_t n = 0; n < s.batch; ++n) {
    for (std::int64_t oc = 0; oc < s.out_channels; ++oc) {
      for (std::int64_t p = 0; p < out.h * out.w; ++p) {
        result.push_back(static_cast<float>(naive_sum(c, n, oc, p / out.w, p % out.w)));
      }
    }
  }
  return result;
}

inline std::vector<float> finished(std::vector<float> sums, const ConvCase& c) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = bounded(c.epilogue, sums[i] + (c.epilogue.residual ? c.residual[i] : 0.0F));
  }
  return sums;
}

inline std::vector<float> naive_conv(const ConvCase& c) { return finished(naive_sums(c), c); }

inline std::string describe(const ConvShape& s) {
  const auto pair = [](Extent e) { return std::to_string(e.h) + "," + std::to_string(e.w); };
  return std::to_string(s.batch) + "x" + std::to_string(s.in_channels) + "->" +
         std::to_string(s.out_channels) + " groups " + std::to_string(s.groups) + " input " +
         pair(s.input) + " kernel " + pair(s.kernel) + " stride " + pair(s.stride) + " dilation " +
         pair(s.dilation) + " pads " + pair(s.pad_begin) + ";" + pair(s.pad_end);
}

inline ConvShape square(std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t kernel,
                        std::int64_t stride, std::int64_t pad) {
  ConvShape s;
  s.in_channels = in;
  s.out_channels = out;
  s.input = {size, size};
  s.kernel = {kernel, kernel};
  s.stride = {stride, stride};
  s.pad_begin = s.pad_end = {pad, pad};
  return s;
}

}  // namespace sluice::cpu::testing
