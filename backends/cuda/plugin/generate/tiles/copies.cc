#include "plugin/generate/tiles/copies.h"

namespace sluice::cuda {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

std::string factor_text(const char* name, const Factor& factor, const std::string& members) {
  const std::string step = factor.is_along_k ? "o * " + number(factor.stride) : "o";
  return std::string("struct ") + name +
         " {\n  static constexpr bool kAlongK = " + (factor.is_along_k ? "true" : "false") +
         ";\n  static constexpr int kVector = " + number(factor.vector) +
         ";\n  static constexpr Index kStride = " + number(factor.stride) +
         ", kExtent = " + number(factor.extent) + ";\n" +
         (members.empty() ? "  static __device__ Index offset(Index o) { return " + step + "; }\n"
                          : members) +
         "};\n";
}

}  // namespace

std::string factors_text(const Product& product) {
  std::string members = product.gathering.members;
  if (!product.column_offset.empty()) {
    members =
        "  static __device__ Index offset(Index o) { return " + product.column_offset + "; }\n";
  }
  return factor_text("A", product.a, "") + factor_text("B", product.b, members);
}

const char* const kAsyncText = R"(
static __device__ __forceinline__ unsigned shared_address(const void* place) {
  return static_cast<unsigned>(__cvta_generic_to_shared(place));
}

// Copies to shared memory, or writes zeros. `from` is aligned either way.
template <int kBytes>
static __device__ __forceinline__ void copy(void* to, const void* from, bool is_there) {
#if __CUDA_ARCH__ >= 800
  const int bytes = is_there ? kBytes : 0;
  if (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)),
                 "l"(from), "n"(kBytes), "r"(bytes));
  }
#else
  uint4 words = {0, 0, 0, 0};
  if (kBytes == 16) {
    if (is_there) words = *static_cast<const uint4*>(from);
    *static_cast<uint4*>(to) = words;
  } else if (kBytes == 8) {
    if (is_there) *reinterpret_cast<uint2*>(&words) = *static_cast<const uint2*>(from);
    *static_cast<uint2*>(to) = {words.x, words.y};
  } else {
    if (is_there) words.x = *static_cast<const unsigned*>(from);
    *static_cast<unsigned*>(to) = words.x;
  }
#endif
}

static __device__ __forceinline__ void close_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until no more than kNewest closed groups of copies are on their way.
template <int kNewest>
static __device__ __forceinline__ void await_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kNewest) : "memory");
#endif
}
)";

const char* const kCopiesText = R"(
// Which tile a block has. Eight rows of tiles go together, so that the blocks that run at one time
// read few lines of either factor.
struct Place {
  Index row, column, batch;
};
static __device__ __forceinline__ Place find_tile(unsigned block) {
  constexpr unsigned kAcross = (kN + kTileN - 1) / kTileN, kDown = (kM + kTileM - 1) / kTileM;
  constexpr unsigned kRows = kDown < 8 ? kDown : 8;
  const unsigned tile = block % (kAcross * kDown), group = tile / (kRows * kAcross);
  const unsigned left = kDown - group * kRows, height = left < kRows ? left : kRows;
  const unsigned inside = tile - group * kRows * kAcross;
  return {Index(group * kRows + inside % height) * kTileM, Index(inside / height) * kTileN,
          block / (kAcross * kDown)};
}

// Goes through all steps of a tile. `load_a` and `load_b` fill shared memory, `multiply(step)`
// reads it. One barrier a step: behind it everybody has read the step before, whose memory the new
// copies take.
template <typename LoadA, typename LoadB, typename Multiply>
static __device__ __forceinline__ void walk(T (*tiles)[(kTileM + kTileN) * kTileK], LoadA& load_a,
                                            LoadB& load_b, Multiply multiply) {
  constexpr int kSteps = (kK + kTileK - 1) / kTileK;
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step) {
    if (step < kSteps) {
      load_a.fetch(tiles[step], step * kTileK);
      load_b.fetch(tiles[step] + kTileM * kTileK, step * kTileK);
      load_a.settle(tiles[step]);
      load_b.settle(tiles[step] + kTileM * kTileK);
    }
    close_copies();
  }
#pragma unroll 1
  for (int step = 0; step < kSteps; ++step) {
    await_copies<kStages - 2>();
    __syncthreads();
    const int next = step + kStages - 1;
    T* const free = tiles[next % kStages];
    if (next < kSteps) {
      load_a.fetch(free, next * kTileK);
      load_b.fetch(free + kTileM * kTileK, next * kTileK);
    }
    close_copies();
    multiply(tiles[step % kStages]);
    if (next < kSteps) {
      load_a.settle(free);
      load_b.settle(free + kTileM * kTileK);
    }
  }
  await_copies<0>();
}

// Where warps that divided the steps leave a sum. Lines are 8 banks apart, and odd ones have
// neighbouring fours exchanged: neither pairs that are written nor runs that are read meet in a bank.
static __device__ __forceinline__ int place_of_part(int line, int column) {
  return line * (kTileN + 8) + (column ^ (line & 1) * 4);
}

// Adds up what the warps have that divided the steps, and finishes runs of neighbours in a row.
// `parts`: by warp and row.
template <typename Finish>
static __device__ __forceinline__ void finish_parts(const float* parts, const Place& place,
                                                    Finish finish) {
  constexpr int kRuns = kTileN / kRun, kPart = kRun < 4 ? kRun : 4;
  for (int i = threadIdx.x; i < kTileM * kRuns; i += kThreads) {
    const int row = i / kRuns, column = i % kRuns * kRun;
    float run[kRun] = {};
    for (int part = 0; part < kWarpsK; ++part) {
#pragma unroll
      for (int j = 0; j < kRun; j += kPart) {
        const Run<float, kPart> some =
            load_run<kPart>(parts + place_of_part(part * kTileM + row, column + j));
#pragma unroll
        for (int n = 0; n < kPart; ++n) run[j + n] += some.at[n];
      }
    }
    finish(place.row + row, place.column + column, run);
  }
}
)";

}  // namespace sluice::cuda
