#include "kernels/image/transpose.h"

#include "core/transpose_lanes.h"
#include "kernels/conv/conv_tile.h"

namespace sluice::cpu::SLUICE_CPU_ISA {
namespace {

SLUICE_CPU_INLINE std::int64_t at_most_lanes(std::int64_t n) { return n < kLanes ? n : kLanes; }

/// Up to kLanes pixels of the lanes [lane, lane + kLanes) of a block, `channels` of which are
/// wanted.
SLUICE_CPU_INLINE void tile_to_planes(const float* block, std::int64_t pixels,
                                      std::int64_t channels, float* planes, std::int64_t plane) {
  Vec rows[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) rows[i] = i < pixels ? load(block + i * kBlock) : Vec{};
  transpose_lanes(rows);
  for (int i = 0; i < channels; ++i) {
    if (pixels == kLanes) {
      store(planes + i * plane, rows[i]);
    } else {
      store_first(planes + i * plane, rows[i], static_cast<int>(pixels));
    }
  }
}

SLUICE_CPU_INLINE void tile_to_block(const float* planes, std::int64_t plane, std::int64_t channels,
                                     std::int64_t pixels, float* block) {
  Vec rows[kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kLanes; ++i) {
    rows[i] = i >= channels      ? Vec{}
              : pixels == kLanes ? load(planes + i * plane)
                                 : load_first(planes + i * plane, static_cast<int>(pixels));
  }
  transpose_lanes(rows);
  for (int i = 0; i < pixels; ++i) store(block + i * kBlock, rows[i]);
}

}  // namespace

void block_to_planes(const float* block, std::int64_t pixels, std::int64_t channels, float* planes,
                     std::int64_t plane) {
  for (std::int64_t lane = 0; lane < channels; lane += kLanes) {
    for (std::int64_t p = 0; p < pixels; p += kLanes) {
      tile_to_planes(block + p * kBlock + lane, at_most_lanes(pixels - p),
                     at_most_lanes(channels - lane), planes + lane * plane + p, plane);
    }
  }
}

void planes_to_block(const float* planes, std::int64_t plane, std::int64_t channels,
                     std::int64_t pixels, float* block) {
  for (std::int64_t lane = 0; lane < kBlock; lane += kLanes) {
    for (std::int64_t p = 0; p < pixels; p += kLanes) {
      tile_to_block(planes + lane * plane + p, plane,
                    channels > lane ? at_most_lanes(channels - lane) : 0, at_most_lanes(pixels - p),
                    block + p * kBlock + lane);
    }
  }
}

void every_second(const float* __restrict from, std::int64_t count, float* __restrict to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[2 * i];  // the compiler shuffles vectors
}

}  // namespace sluice::cpu::SLUICE_CPU_ISA
