#include "plugin/generate/tiles/vectors.h"

#include <algorithm>

namespace sluice::cuda {
namespace {

constexpr int kWarps = static_cast<int>(kVectorThreads) / 32;

// Blocks that are enough for the multiprocessors of a large device, nearly.
constexpr std::int64_t kEnoughBlocks = 90;

constexpr const char* kFind = R"(
struct Place {
  Index row, column, batch;
};
static __device__ __forceinline__ Place find_vectors(unsigned block) {
  constexpr unsigned kAcross = (kN + kColumns - 1) / kColumns;
  return {0, Index(block % kAcross) * kColumns, block / kAcross};
}
// The sum over the lanes whose numbers differ by multiples of kFrom.
template <int kFrom>
static __device__ __forceinline__ float add_lanes(float sum) {
#pragma unroll
  for (int distance = kFrom; distance < 32; distance *= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  return sum;
}
)";

// A warp reads the lines of its columns side by side; a lane has a load's worth of each.
constexpr const char* kAlongK = R"(
static __device__ __forceinline__ Run<T, kVector> load_factors(const T* line, int k) {
  if constexpr (A::kAlongK && A::kVector >= kVector) return load_run<kVector>(line + k);
  Run<T, kVector> factors;
#pragma unroll
  for (int i = 0; i < kVector; ++i) factors.at[i] = line[(k + i) * kStepA];
  return factors;
}
template <typename Finish>
static __device__ __forceinline__ void compute_vectors(const T* a, const T* b, const Place& place,
                                                       Finish finish) {
  __shared__ float parts[kM][kColumns];
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * kEach;
  const Index first = place.column + own;
  const T* lines[kEach];
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    lines[j] = b + B::offset(first + j < kN ? first + j : kN - 1);
  }
  float sums[kM][kEach] = {};
#pragma unroll kUnrolled
  for (int k = lane * kVector; k < kK; k += 32 * kVector) {
    Run<T, kVector> read[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j) read[j] = load_run<kVector>(lines[j] + k);
#pragma unroll
    for (int row = 0; row < int(kM); ++row) {
      const Run<T, kVector> factors = load_factors(a + A::offset(row), k);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
          sums[row][j] = fmaf(float(factors.at[i]), float(read[j].at[i]), sums[row][j]);
        }
      }
    }
  }
#pragma unroll
  for (int row = 0; row < int(kM); ++row) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const float sum = add_lanes<1>(sums[row][j]);
      if (lane == 0) parts[row][own + j] = sum;
    }
  }
  __syncthreads();
  // Columns side by side are finished, and stored, at once.
  for (int i = threadIdx.x; i < int(kM) * kColumns; i += kThreads) {
    const float sum[1] = {parts[i / kColumns][i % kColumns]};
    finish(i / kColumns, place.column + i % kColumns, sum);
  }
}
)";

// A lane reads kVector columns of every kSlices-th k.
constexpr const char* kAcrossK = R"(
template <typename Finish>
static __device__ __forceinline__ void compute_vectors(const T* a, const T* b, const Place& place,
                                                       Finish finish) {
  constexpr int kSlices = kThreads / kLanes;
  __shared__ float parts[kThreads / 32][kM][kColumns];
  const int column = threadIdx.x % kLanes * kVector, warp = threadIdx.x / 32;
  const bool is_there = place.column + column < kN;
  const T* const from = b + (is_there ? place.column + column : 0);
  float sums[kM][kVector] = {};
#pragma unroll kUnrolled
  for (int k = threadIdx.x / kLanes; k < kK; k += kSlices) {
    const Run<T, kVector> read = load_run<kVector>(from + k * B::kStride);
#pragma unroll
    for (int row = 0; row < int(kM); ++row) {
      const float factor = a[A::offset(row) + k * kStepA];
#pragma unroll
      for (int i = 0; i < kVector; ++i) sums[row][i] = fmaf(factor, float(read.at[i]), sums[row][i]);
    }
  }
#pragma unroll
  for (int row = 0; row < int(kM); ++row) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const float sum = add_lanes<kLanes>(sums[row][i]);
      if (threadIdx.x % 32 < kLanes) parts[warp][row][column + i] = sum;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < int(kM) * kColumns; i += kThreads) {
    float sum[1] = {};
#pragma unroll
    for (int part = 0; part < kThreads / 32; ++part) sum[0] += parts[part][i / kColumns][i % kColumns];
    finish(i / kColumns, place.column + i % kColumns, sum);
  }
}
)";

// Rows that begin at odd places: lanes read whole loads from the aligned place at or before a row's
// begin. The rows of a warp begin equally far behind one, since it takes every kWarps-th; the
// columns of warps differ by these shifts when they add up what they have.
constexpr const char* kAcrossOddRows = R"(
template <typename Finish>
static __device__ __forceinline__ void compute_vectors(const T* a, const T* b, const Place& place,
                                                       Finish finish) {
  constexpr int kWarps = kThreads / 32, kGap = 32 + 32 / kVector;
  static_assert(kWarps % kVector == 0, "the rows of a warp begin alike");
  __shared__ float parts[kWarps][kM][kVector * kGap];
  __shared__ int shifts[kWarps];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const T* const first = b + (Index(warp) * B::kStride + place.column);
  const int shift = int(reinterpret_cast<unsigned long long>(first) / sizeof(T) % kVector);
  const long long column = static_cast<long long>(place.column) + lane * kVector - shift;
  const T* const from = first + (lane * kVector - shift);
  float sums[kM][kVector] = {};
  const auto add = [&](const Run<T, kVector>& read, int k) {
#pragma unroll
    for (int row = 0; row < int(kM); ++row) {
      const float factor = a[A::offset(row) + k * kStepA];
#pragma unroll
      for (int i = 0; i < kVector; ++i) sums[row][i] = fmaf(factor, float(read.at[i]), sums[row][i]);
    }
  };
  if (column < kN) {
    int k = warp;
#pragma unroll kUnrolled
    for (; k < kK - 1; k += kWarps) {
      add(load_run<kVector>(from + Index(k - warp) * B::kStride), k);
    }
    if (k == kK - 1) {  // nothing lies behind the last row
      Run<T, kVector> read = {};
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (column + i >= 0 && column + i < kN) read.at[i] = from[Index(k - warp) * B::kStride + i];
      }
      add(read, k);
    }
  }
  if (lane == 0) shifts[warp] = shift;
#pragma unroll
  for (int row = 0; row < int(kM); ++row) {
#pragma unroll
    for (int i = 0; i < kVector; ++i) parts[warp][row][i * kGap + lane] = sums[row][i];
  }
  __syncthreads();
  for (int i = threadIdx.x; i < int(kM) * kColumns; i += kThreads) {
    float sum[1] = {};
#pragma unroll
    for (int part = 0; part < kWarps; ++part) {
      const int at = i % kColumns + shifts[part];
      sum[0] += parts[part][i / kColumns][at % kVector * kGap + at / kVector];
    }
    finish(i / kColumns, place.column + i % kColumns, sum);
  }
}
)";

std::string constant(const char* name, std::int64_t value) {
  return std::string("constexpr int ") + name + " = " + std::to_string(value) + ";\n";
}

}  // namespace

Vectors choose_vectors(const Product& product, int element_bytes) {
  Vectors vectors;
  vectors.is_along_k = product.b.is_along_k;
  vectors.vector = product.b.vector;
  const auto blocks = [&](std::int64_t columns) {
    return product.n / columns * product.num_batches();
  };
  if (vectors.is_along_k) {
    vectors.each = blocks(4L * kWarps) >= kEnoughBlocks ? 4 : 1;
    vectors.columns = vectors.each * kWarps;
    return vectors;
  }
  const int widest = 16 / element_bytes;
  vectors.is_odd = vectors.vector < widest && blocks(31L * widest) >= kEnoughBlocks;
  if (vectors.is_odd) {
    vectors.lanes = 32;
    vectors.vector = widest;
    vectors.columns = 31 * widest;
    return vectors;
  }
  // Side by side are at least 32 bytes, a sector of memory.
  const int fewest = std::max(1, 32 / (vectors.vector * element_bytes));
  vectors.lanes = 32;
  while (vectors.lanes > fewest &&
         blocks(std::int64_t{vectors.lanes} * vectors.vector) < kEnoughBlocks) {
    vectors.lanes /= 2;
  }
  vectors.columns = vectors.lanes * vectors.vector;
  return vectors;
}

std::string vectors_text(const Vectors& vectors) {
  return constant("kColumns", vectors.columns) + constant("kEach", vectors.each) +
         constant("kLanes", vectors.lanes) + constant("kVector", vectors.vector) +
         constant("kThreads", kVectorThreads) +
         // A thread has about eight loads on their way.
         constant("kUnrolled", vectors.is_along_k ? 8 / std::max(vectors.each, 2) : 8) +
         "constexpr Index kStepA = A::kAlongK ? 1 : A::kStride;\n" + kFind +
         (vectors.is_along_k ? kAlongK
          : vectors.is_odd   ? kAcrossOddRows
                             : kAcrossK);
}

}  // namespace sluice::cuda
