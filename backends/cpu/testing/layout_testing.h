#pragma once

// What the tests of this folder share: random tensors, the layout c16 by plain loops, comparison.

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "conv/conv_shape.h"
#include "core/worker.h"
#include "testing/test_isas.h"

namespace sluice::cpu::testing {

inline std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> in(-1.0f, 1.0f);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& v : values) v = in(engine);
  return values;
}

inline std::size_t blocked_index(std::int64_t channels, std::int64_t pixels, std::int64_t n,
                                 std::int64_t c, std::int64_t p) {
  const std::int64_t block = n * blocks_of(channels) + c / kBlock;
  return static_cast<std::size_t>((block * pixels + p) * kBlock + c % kBlock);
}

/// NCHW to c16; the channels that do not exist become NaN, so that a kernel that uses them shows.
inline std::vector<float> to_blocked(const std::vector<float>& planes, std::int64_t batch,
                                     std::int64_t channels, std::int64_t pixels) {
  std::vector<float> blocked(
      static_cast<std::size_t>(batch * blocks_of(channels) * pixels * kBlock), NAN);
  std::size_t i = 0;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t p = 0; p < pixels; ++p) {
        blocked[blocked_index(channels, pixels, n, c, p)] = planes[i++];
      }
    }
  }
  return blocked;
}

/// One image of at most 16 channels to a block; the channels that do not exist become zero.
inline std::vector<float> padded_blocked(const std::vector<float>& planes, std::int64_t channels,
                                         std::int64_t pixels) {
  std::vector<float> block = to_blocked(planes, 1, channels, pixels);
  for (float& v : block) v = std::isnan(v) ? 0.0F : v;
  return block;
}

/// One value per channel, zeros up to the end of the last block.
inline std::vector<float> padded(std::vector<float> per_channel) {
  const auto channels = static_cast<std::int64_t>(per_channel.size());
  per_channel.resize(static_cast<std::size_t>(blocks_of(channels) * kBlock), 0.0F);
  return per_channel;
}

inline std::vector<float> to_planes(const std::vector<float>& blocked, std::int64_t batch,
                                    std::int64_t channels, std::int64_t pixels) {
  std::vector<float> planes;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t p = 0; p < pixels; ++p) {
        planes.push_back(blocked[blocked_index(channels, pixels, n, c, p)]);
      }
    }
  }
  return planes;
}

/// Largest |a - b|; infinite when the sizes differ or either holds a NaN.
inline double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(d <= largest)) largest = std::isnan(d) ? INFINITY : d;
  }
  return largest;
}

/// Scratch aligned as workers get it, filled with NaN.
class Scratch {
 public:
  explicit Scratch(std::int64_t bytes) : floats_(static_cast<std::size_t>(bytes / 4 + 32), NAN) {}
  std::byte* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(floats_.data());
    return reinterpret_cast<std::byte*>(floats_.data()) + (64 - address % 64) % 64;
  }

 private:
  std::vector<float> floats_;
};

}  // namespace sluice::cpu::testing
