// Shared memory holds a tile's lines in chunks of 16 bytes, whose order turns from line to line:
// the eight chunks that ldmatrix reads at once lie in different banks.
//
// Fragments are those of "Matrix Fragments for mma.m16n8k16" in the PTX ISA. A factor whose
// neighbours are not along k is turned by ldmatrix while it is loaded.

#include "plugin/generate/tiles/half_tile.h"

namespace sluice::cuda {

const char* const kMultiplyF16Text = R"(
static __device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4],
                                                const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]));
  }
#endif
}
)";

// Architectures before 8.0 have no matrix units for bf16: lanes pass their elements around.
const char* const kMultiplyBf16Text = R"(
#if __CUDA_ARCH__ < 800
static __device__ __forceinline__ float low(unsigned pair) { return __uint_as_float(pair << 16); }
static __device__ __forceinline__ float high(unsigned pair) {
  return __uint_as_float(pair & 0xffff0000u);
}
#endif
static __device__ __forceinline__ void multiply(float (&c)[4], const unsigned (&a)[4],
                                                const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
      "{%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  const int lane = threadIdx.x % 32;
#pragma unroll 1
  for (int from = 0; from < 4; ++from) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const unsigned top = __shfl_sync(0xffffffffu, a[2 * i], lane / 4 * 4 + from);
      const unsigned bottom = __shfl_sync(0xffffffffu, a[2 * i + 1], lane / 4 * 4 + from);
      const unsigned left = __shfl_sync(0xffffffffu, b[i], lane % 4 * 8 + from);
      const unsigned right = __shfl_sync(0xffffffffu, b[i], lane % 4 * 8 + 4 + from);
      c[0] += low(top) * low(left) + high(top) * high(left);
      c[1] += low(top) * low(right) + high(top) * high(right);
      c[2] += low(bottom) * low(left) + high(bottom) * high(left);
      c[3] += low(bottom) * low(right) + high(bottom) * high(right);
    }
  }
#endif
}
)";

const char* const kHalfLoadersText = R"(
// Where an element of a tile lies, whose lines of neighbours have kColumns elements.
template <int kColumns>
static __device__ __forceinline__ int place_of(int row, int column) {
  constexpr int kChunks = kColumns / 8;
  const int turn = kChunks >= 8 ? row & 7 : row * kChunks / 8 & (kChunks - 1);
  return row * kColumns + (column / 8 ^ turn) * 8 + column % 8;
}

// The part of a line of neighbours that a thread copies, and of which lines.
template <typename M, int kOuter, int kVector>
struct Share {
  static constexpr int kRows = M::kAlongK ? kOuter : kTileK;
  static constexpr int kColumns = M::kAlongK ? kTileK : kOuter;
  static constexpr int kUnits = kColumns / kVector, kStep = kThreads / kUnits;
  static constexpr int kTurns = kRows / kStep;
  static_assert(kUnits <= kThreads && kTurns * kStep == kRows, "a step is shared out evenly");
  int row = threadIdx.x / kUnits, column = threadIdx.x % kUnits * kVector;

  static __device__ bool is_line(Index line) {
    return M::kExtent % kOuter == 0 || line < M::kExtent;
  }
  static __device__ bool is_k(int k) { return kK % kTileK == 0 || k < kK; }
};

template <typename M, int kOuter, int kVector = M::kVector>
struct Loader : Share<M, kOuter, kVector> {
  using Mine = Share<M, kOuter, kVector>;
  const T* from;
  Index line;

  __device__ Loader(const T* matrix, Index first) {
    line = first + (M::kAlongK ? this->row : this->column);
    from = matrix + M::offset(line) + (M::kAlongK ? this->column : this->row * M::kStride);
  }
  __device__ void fetch(T* tile, int k) const {
    const T* const start = from + k * (M::kAlongK ? 1 : M::kStride);
#pragma unroll
    for (int turn = 0; turn < Mine::kTurns; ++turn) {
      const int row = this->row + turn * Mine::kStep;
      const bool is_there = Mine::is_line(M::kAlongK ? line + turn * Mine::kStep : line) &&
                            Mine::is_k(k + (M::kAlongK ? this->column : row));
      copy<kVector * 2>(tile + place_of<Mine::kColumns>(row, this->column),
                        start + turn * Mine::kStep * M::kStride, is_there);
    }
  }
  __device__ void settle(T*) const {}
};

// Two neighbours at a time, through registers: nothing copies two bytes asynchronously.
template <typename M, int kOuter>
struct Loader<M, kOuter, 1> : Share<M, kOuter, 2> {
  using Mine = Share<M, kOuter, 2>;
  const T* from[2];
  Index line;
  unsigned short held[Mine::kTurns][2];

  __device__ Loader(const T* matrix, Index first) {
    line = first + (M::kAlongK ? this->row : this->column);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      from[j] = matrix + (M::kAlongK ? M::offset(line) + this->column + j
                                     : M::offset(line + j) + this->row * M::kStride);
    }
  }
  __device__ void fetch(T*, int k) {
#pragma unroll
    for (int turn = 0; turn < Mine::kTurns; ++turn) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const bool is_there =
            M::kAlongK
                ? Mine::is_line(line + turn * Mine::kStep) && Mine::is_k(k + this->column + j)
                : Mine::is_line(line + j) && Mine::is_k(k + this->row + turn * Mine::kStep);
        held[turn][j] = 0;
        if (is_there) {
          held[turn][j] = from[j][k * (M::kAlongK ? 1 : M::kStride) +
                                  turn * Mine::kStep * M::kStride].bits;
        }
      }
    }
  }
  __device__ void settle(T* tile) const {
#pragma unroll
    for (int turn = 0; turn < Mine::kTurns; ++turn) {
      T* const to = tile + place_of<Mine::kColumns>(this->row + turn * Mine::kStep, this->column);
      *reinterpret_cast<unsigned*>(to) = held[turn][0] | unsigned(held[turn][1]) << 16;
    }
  }
};
)";

const char* const kHalfGathererText = R"(
// Pixels under windows, two neighbouring windows at a time.
template <typename M, int kOuter>
struct Gatherer : Share<M, kOuter, 2> {
  using Mine = Share<M, kOuter, 2>;
  const T* image;
  typename M::Offset offsets[2] = {};
  typename M::Taps taps[2] = {};
  unsigned short held[Mine::kTurns][2];

  __device__ Gatherer(const T* image, Index first) : image(image) {
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const Index line = first + this->column + j;
      if (line < M::kExtent) M::locate(line, offsets[j], taps[j]);
    }
  }
  __device__ void fetch(T*, int k) {
#pragma unroll
    for (int turn = 0; turn < Mine::kTurns; ++turn) {
      const int at = k + this->row + turn * Mine::kStep, tap = at % M::kTaps;
      const typename M::Offset step = M::step(at);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        held[turn][j] = 0;
        if (Mine::is_k(at) && (taps[j] >> tap & 1)) held[turn][j] = image[offsets[j] + step].bits;
      }
    }
  }
  __device__ void settle(T* tile) const {
#pragma unroll
    for (int turn = 0; turn < Mine::kTurns; ++turn) {
      T* const to = tile + place_of<kOuter>(this->row + turn * Mine::kStep, this->column);
      *reinterpret_cast<unsigned*>(to) = held[turn][0] | unsigned(held[turn][1]) << 16;
    }
  }
};
)";

const char* const kMatricesText = R"(
// Four matrices of 8 x 8 from shared memory, one row of each by every fourth part of the lanes.
template <bool kIsTurned>
static __device__ __forceinline__ void load_matrices(unsigned (&to)[4], const T* from) {
  if (kIsTurned) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(from)));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(from)));
  }
}

// Four lanes hold two columns each of four pieces of eight columns: lane q gets all of piece q.
static __device__ __forceinline__ void gather_piece(float (&pieces)[4][2]) {
  const int lane = threadIdx.x % 4;
#pragma unroll
  for (int bit = 1; bit <= 2; bit *= 2) {
    const bool is_upper = (lane & bit) != 0;
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      if (q & bit) continue;
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const float sent = is_upper ? pieces[q][j] : pieces[q | bit][j];
        const float got = __shfl_xor_sync(0xffffffffu, sent, bit);
        if (is_upper) {
          pieces[q][j] = got;
        } else {
          pieces[q | bit][j] = got;
        }
      }
    }
  }
}
)";

const char* const kHalfTileText = R"(
// 16 lines of a, or of b, and 16 elements of each. The order of the four matrices is that of a.
template <typename M, int kOuter>
static __device__ __forceinline__ void load_lines(unsigned (&to)[4], const T* tile, int line,
                                                  int k) {
  const int lane = threadIdx.x % 32, low = lane % 16, high = lane / 16 * 8;
  if (M::kAlongK) {
    load_matrices<false>(to, tile + place_of<kTileK>(line + low, k + high));
  } else {
    load_matrices<true>(to, tile + place_of<kOuter>(k + lane % 8 + high, line + (low & 8)));
  }
}

constexpr int kRowsM = kTileM / kWarpsM / 16, kColumnsN = kTileN / kWarpsN / 8;
typedef float Sums[kRowsM][kColumnsN][4];

// The part of a step that a warp multiplies.
static __device__ __forceinline__ void multiply_step(Sums& sums, const T* tile, int row, int column,
                                                     int first) {
#pragma unroll
  for (int k = 0; k < kTileK / kWarpsK; k += 16) {
    unsigned a[kRowsM][4], b[kColumnsN][2];
#pragma unroll
    for (int i = 0; i < kRowsM; ++i) load_lines<A, kTileM>(a[i], tile, row + i * 16, first + k);
#pragma unroll
    for (int j = 0; j < kColumnsN; j += 2) {
      unsigned both[4];
      load_lines<B, kTileN>(both, tile + kTileM * kTileK, column + j * 8, first + k);
      b[j][0] = both[0], b[j + 1][0] = both[1], b[j][1] = both[2], b[j + 1][1] = both[3];
    }
#pragma unroll
    for (int i = 0; i < kRowsM; ++i) {
#pragma unroll
      for (int j = 0; j < kColumnsN; ++j) multiply(sums[i][j], a[i], b[j]);
    }
  }
}

template <typename Finish>
static __device__ __forceinline__ void finish_sums(const Sums& sums, Index row, Index column,
                                                   Finish finish) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kRowsM; ++i) {
#pragma unroll
    for (int j = 0; j < kColumnsN; j += 2) {
      float run[4][2] = {{sums[i][j][0], sums[i][j][1]},
                         {sums[i][j][2], sums[i][j][3]},
                         {sums[i][j + 1][0], sums[i][j + 1][1]},
                         {sums[i][j + 1][2], sums[i][j + 1][3]}};
      if constexpr (kRun == 2) {
#pragma unroll
        for (int q = 0; q < 4; ++q) {
          finish(row + i * 16 + lane / 4 + q % 2 * 8, column + (j + q / 2) * 8 + lane % 4 * 2,
                 run[q]);
        }
      } else {
        gather_piece(run);
        finish(row + i * 16 + lane / 4 + lane % 2 * 8, column + (j + lane % 4 / 2) * 8,
               reinterpret_cast<float(&)[kRun]>(run));
      }
    }
  }
}

static __device__ __forceinline__ void keep_part(const Sums& sums, float* parts, int part, int row,
                                                 int column) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kRowsM; ++i) {
#pragma unroll
    for (int j = 0; j < kColumnsN; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int line = part * kTileM + row + i * 16 + lane / 4 + half * 8;
        float* const to = parts + place_of_part(line, column + j * 8 + lane % 4 * 2);
        *reinterpret_cast<float2*>(to) = {sums[i][j][half * 2], sums[i][j][half * 2 + 1]};
      }
    }
  }
}

template <typename Finish>
static __device__ __forceinline__ void compute_tile(const T* a, const T* b, const Place& place,
                                                    Finish finish) {
  __shared__ __align__(128) T tiles[kStages][(kTileM + kTileN) * kTileK];
  const int warp = threadIdx.x / 32, part = warp / (kWarpsM * kWarpsN);
  const int row = warp / kWarpsN % kWarpsM * (kTileM / kWarpsM);
  const int column = warp % kWarpsN * (kTileN / kWarpsN);
  LoadA load_a(a, place.row);
  LoadB load_b(b, place.column);
  Sums sums = {};
  walk(tiles, load_a, load_b, [&](const T* tile) {
    multiply_step(sums, tile, row, column, part * (kTileK / kWarpsK));
  });
  if constexpr (kWarpsK == 1) {
    finish_sums(sums, place.row + row, place.column + column, finish);
  } else {
    float* const parts = reinterpret_cast<float*>(tiles);
    __syncthreads();
    keep_part(sums, parts, part, row, column);
    __syncthreads();
    finish_parts(parts, place, finish);
  }
}
)";

}  // namespace sluice::cuda
