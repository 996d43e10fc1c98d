#include "kernels/bytes/byte_depthwise_tile.h"

#include "kernels/bytes/byte_finish.h"
#include "kernels/conv/depthwise_row.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

struct BytePixels {
  /// Largest number of columns whose sums fit the registers.
  static constexpr int kMaxCols = kVectorRegisters == 32 ? 14 : 6;
  using Kernel = ByteDepthwiseTileKernel;

  template <int kKernel, int kStride, int kCols>
  static void run(const ByteDepthwiseTile& t) {
    const Vec zero = broadcast(t.input_zero);
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      Vec sums[kCols] = {};
      const std::uint8_t* x = t.input + lane;
      const float* w = t.weights + lane;
#pragma GCC unroll 1
      for (int r = 0; r < t.rows; ++r, x += t.input_row, w += kKernel * kBlock) {
        add_depthwise_row<kKernel, kStride, kCols>(
            t.first_column, t.end_column, [&](int i) { return load_bytes(x + i * kBlock) - zero; },
            w, sums);
      }
      const Vec scale = load(t.scales + lane);
      const Vec bias = load(t.biases + lane);
#pragma GCC unroll 14
      for (int c = 0; c < kCols; ++c) finish_bytes(t, sums[c], scale, bias, c * kBlock + lane);
    }
  }
};

/// Pixel by pixel, with whatever taps exist.
void any_tile(const ByteDepthwiseTile& t) {
  const Vec zero = broadcast(t.input_zero);
  for (int c = 0; c < t.cols; ++c) {
    for (int lane = 0; lane < kBlock; lane += kLanes) {
      Vec sum = {};
      for (int r = 0; r < t.rows; ++r) {
        for (int k = 0; k < t.kernel_cols; ++k) {
          const std::int64_t i =
              static_cast<std::int64_t>(c) * t.stride + static_cast<std::int64_t>(k) * t.dilation;
          if (i < t.first_column || i >= t.end_column) continue;
          const Vec w = load(t.weights + (r * t.kernel_cols + k) * kBlock + lane);
          const std::uint8_t* x = t.input + r * t.input_row + i * kBlock + lane;
          sum = fmadd(load_bytes(x) - zero, w, sum);
        }
      }
      finish_bytes(t, sum, load(t.scales + lane), load(t.biases + lane), c * kBlock + lane);
    }
  }
}

}  // namespace

const ByteDepthwiseTileSet kByteDepthwiseTiles = {BytePixels::kMaxCols, &find_depthwise<BytePixels>,
                                                  &any_tile};

}  // namespace sluice::cpu::SLUICE_CPU_ISA
