// Shared memory holds a step of both factors with neighbouring lines side by side, so that a thread
// reads four at once. Where memory has neighbours along k, copies of single elements turn them; the
// lines of k = 1, 2, 3... are shifted against each other, so that these copies and the reads meet
// no bank twice.

#include "plugin/generate/tiles/float_tile.h"

namespace sluice::cuda {

const char* const kFloatLoadersText = R"(
// Where an element of a tile lies. Groups of four lines stay together.
template <typename M, int kOuter>
static __device__ __forceinline__ int place_of(int k, int line) {
  return k * kOuter + (M::kAlongK ? line ^ (k & 7) * 4 : line);
}
template <typename M, int kOuter>
static __device__ __forceinline__ bool is_line(Index line) {
  return M::kExtent % kOuter == 0 || line < M::kExtent;
}
static __device__ __forceinline__ bool is_k(int k) { return kK % kTileK == 0 || k < kK; }

template <typename M, int kOuter, bool kAlongK = M::kAlongK>
struct Loader {
  static constexpr int kUnits = kOuter / M::kVector, kStep = kThreads / kUnits;
  static constexpr int kTurns = kTileK / kStep;
  static_assert(kUnits <= kThreads && kTurns * kStep == kTileK, "a step is shared out evenly");
  int row = threadIdx.x / kUnits, column = threadIdx.x % kUnits * M::kVector;
  Index line;
  const float* from;

  __device__ Loader(const float* matrix, Index first)
      : line(first + column), from(matrix + M::offset(line) + row * M::kStride) {}
  __device__ void fetch(float* tile, int k) const {
    const float* const start = from + k * M::kStride;
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int at = row + turn * kStep;
      copy<M::kVector * 4>(tile + place_of<M, kOuter>(at, column),
                           start + turn * kStep * M::kStride,
                           is_line<M, kOuter>(line) && is_k(k + at));
    }
  }
  __device__ void settle(float*) const {}
};

// Eight elements of a line go to eight neighbouring lanes: they are a sector of memory.
template <typename M, int kOuter>
struct Loader<M, kOuter, true> {
  static constexpr int kStep = kThreads / 8, kLines = kOuter / kStep, kTurns = kTileK / 8;
  static_assert(kLines * kStep == kOuter && kTurns * 8 == kTileK, "a step is shared out evenly");
  int line = threadIdx.x / 8, column = threadIdx.x % 8;
  Index first;
  const float* from;

  __device__ Loader(const float* matrix, Index first)
      : first(first + line), from(matrix + M::offset(first + line) + column) {}
  __device__ void fetch(float* tile, int k) const {
    // Steps of 32 lines leave the bits alone by which lines of k are shifted.
    float* const to = tile + place_of<M, kOuter>(column, line);
#pragma unroll
    for (int i = 0; i < kLines; ++i) {
#pragma unroll
      for (int turn = 0; turn < kTurns; ++turn) {
        float* const there = kStep % 32 == 0
                                 ? to + turn * 8 * kOuter + i * kStep
                                 : tile + place_of<M, kOuter>(column + turn * 8, line + i * kStep);
        copy<4>(there, from + k + (i * kStep * M::kStride + turn * 8),
                is_line<M, kOuter>(first + i * kStep) && is_k(k + column + turn * 8));
      }
    }
  }
  __device__ void settle(float*) const {}
};
)";

const char* const kFloatGathererText = R"(
template <typename M, int kOuter>
struct Gatherer {
  static constexpr int kStep = kThreads / kOuter, kTurns = kTileK / kStep;
  static_assert(kOuter <= kThreads && kTurns * kStep == kTileK, "a step is shared out evenly");
  int row = threadIdx.x / kOuter, column = threadIdx.x % kOuter;
  const float* image;
  typename M::Offset offset = 0;
  typename M::Taps taps = 0;

  __device__ Gatherer(const float* image, Index first) : image(image) {
    if (first + column < M::kExtent) M::locate(first + column, offset, taps);
  }
  __device__ void fetch(float* tile, int k) const {
#pragma unroll
    for (int turn = 0; turn < kTurns; ++turn) {
      const int at = row + turn * kStep;
      copy<4>(tile + place_of<M, kOuter>(at, column), image + (offset + M::step(k + at)),
              is_k(k + at) && (taps >> (k + at) % M::kTaps & 1));
    }
  }
  __device__ void settle(float*) const {}
};
)";

const char* const kFloatTileText = R"(
// A warp has four groups of lanes for its rows, eight for its columns.
constexpr int kColumnsN = kTileN / kWarpsN / 8;
static_assert(kTileM / kWarpsM == 32 && kColumnsN % 4 == 0, "a thread has 8 rows");
typedef float Sums[8][kColumnsN];

template <int kCount>
static __device__ __forceinline__ void load_four(float (&to)[kCount], int at, const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[at] = four.x, to[at + 1] = four.y, to[at + 2] = four.z, to[at + 3] = four.w;
}

static __device__ __forceinline__ void multiply_step(Sums& sums, const float* tile, int row,
                                                     int column, int first) {
#pragma unroll
  for (int step = 0; step < kTileK / kWarpsK; ++step) {
    const int k = first + step;
    float a[8], b[kColumnsN];
    load_four(a, 0, tile + place_of<A, kTileM>(k, row));
    load_four(a, 4, tile + place_of<A, kTileM>(k, row + 16));
#pragma unroll
    for (int j = 0; j < kColumnsN; j += 4) {
      load_four(b, j, tile + kTileM * kTileK + place_of<B, kTileN>(k, column + j * 8));
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
      for (int j = 0; j < kColumnsN; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
    }
  }
}

template <typename Take>
static __device__ __forceinline__ void for_fours(const Sums& sums, int row, int column, Take take) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int j = 0; j < kColumnsN; j += 4) {
      const float run[4] = {sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]};
      take(row + i % 4 + i / 4 * 16, column + j * 8, run);
    }
  }
}

template <typename Finish>
static __device__ __forceinline__ void compute_tile(const float* a, const float* b,
                                                    const Place& place, Finish finish) {
  __shared__ __align__(128) float tiles[kStages][(kTileM + kTileN) * kTileK];
  const int warp = threadIdx.x / 32, part = warp / (kWarpsM * kWarpsN), lane = threadIdx.x % 32;
  const int row = warp / kWarpsN % kWarpsM * (kTileM / kWarpsM) + lane / 8 * 4;
  const int column = warp % kWarpsN * (kTileN / kWarpsN) + lane % 8 * 4;
  LoadA load_a(a, place.row);
  LoadB load_b(b, place.column);
  Sums sums = {};
  walk(tiles, load_a, load_b, [&](const float* tile) {
    multiply_step(sums, tile, row, column, part * (kTileK / kWarpsK));
  });
  if constexpr (kWarpsK == 1) {
    for_fours(sums, row, column, [&](int i, int j, const float(&run)[4]) {
      finish(place.row + i, place.column + j, run);
    });
  } else {
    float* const parts = tiles[0];
    __syncthreads();
    for_fours(sums, part * kTileM + row, column, [&](int i, int j, const float(&run)[4]) {
      *reinterpret_cast<float4*>(parts + place_of_part(i, j)) = {run[0], run[1], run[2], run[3]};
    });
    __syncthreads();
    finish_parts(parts, place, finish);
  }
}
)";

}  // namespace sluice::cuda
