// Fragments are those of "Matrix Fragments for mma.m16n8k16" in the PTX ISA: a lane has rows
// lane / 4 and lane / 4 + 8 of its warp's 16, and two neighbours of each eight columns. The
// accumulators of two tiles of eight keys are, rounded, the left fragment of the product with the
// values of these 16 keys.
//
// Lines of keys and values lie in shared memory with a gap of 16 bytes, so that the eight lines
// that ldmatrix reads at once lie in different banks.

#include "plugin/generate/attention/matrix_tiles.h"

#include <algorithm>

#include "plugin/generate/attention/scores.h"
#include "plugin/generate/text/types.h"
#include "plugin/generate/tiles/copies.h"
#include "plugin/generate/tiles/half_tile.h"

namespace sluice::cuda {
namespace {

constexpr std::int64_t kMaxSize = 128;
constexpr std::int64_t kRowsOfWarp = 16;
constexpr int kMaxWarps = 4;

// With fewer blocks than a large device has multiprocessors, smaller blocks are done sooner.
constexpr std::int64_t kEnoughBlocks = 100;

// Kernels have no dynamic shared memory; a masked one has a word besides.
constexpr std::int64_t kMaxShared = 48 * 1024 - 16;

constexpr const char* kFunctions = R"(
static __device__ __forceinline__ unsigned pack(float low, float high) {
#if __CUDA_ARCH__ >= 800
  unsigned pair;
  asm("cvt.rn.$0.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  T pair[2];
  pair[0] = low, pair[1] = high;
  return pair[0].bits | unsigned(pair[1].bits) << 16;
#endif
}
)";

// The rows of a block, and what they see.
constexpr const char* kPlace = R"(
  __shared__ __align__(128) T tiles[2][kTile * (kLineK + kLineV)];
  const int lane = threadIdx.x % 32, low = lane % 16, high = lane / 16 * 8;
  const Index stack = kIsCausal ? blockIdx.x % kStacks : blockIdx.x / kParts;
  // The blocks with the most keys begin first.
  const Index part = kIsCausal ? kParts - 1 - blockIdx.x / kStacks : blockIdx.x % kParts;
  const Index kv = stack % kKvHeads, batch = stack / kKvHeads;
  const Index first_row = part * (kThreads / 2);
  const Index last_row = first_row + kThreads / 2 < kRows ? first_row + kThreads / 2 - 1 : kRows - 1;
  const bool is_one_head = first_row / kQueries == last_row / kQueries;
  const Signed before = $0;
  const Signed lowest = Signed(is_one_head ? first_row % kQueries : 0) + before;
  const Signed highest = Signed(is_one_head ? last_row % kQueries : kQueries - 1) + before;
)";

constexpr const char* kFragments = R"(
  const auto find_row = [&](Index row) {
    // Rows behind the last one compute the last one again, and are not stored.
    if (row >= kRows) row = kRows - 1;
    return find_query(batch, kv * (kRows / kQueries) + row / kQueries, row % kQueries);
  };
  const Index row = first_row + threadIdx.x / 32 * 16 + lane / 4;
  Query own[2] = {find_row(row), find_row(row + 8)};
  unsigned q[kPaddedK / 16][4];
#pragma unroll
  for (int k = 0; k < kPaddedK / 16; ++k) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int column = k * 16 + i / 2 * 8;
      const T* const from = own[i % 2].q + column + lane % 4 * 2;
      q[k][i] = column < kSizeK ? *reinterpret_cast<const unsigned*>(from) : 0;
    }
  }
  const auto fetch = [&](T* tile, Signed first) {
#pragma unroll
    for (int i = threadIdx.x; i < kTile * (kPaddedK / 8); i += kThreads) {
      const int line = i / (kPaddedK / 8), column = i % (kPaddedK / 8) * 8;
      copy<16>(tile + line * kLineK + column, key_at(first + line) + column,
               Index(first + line) < kKeys && column < kSizeK);
    }
#pragma unroll
    for (int i = threadIdx.x; i < kTile * (kPaddedV / 8); i += kThreads) {
      const int line = i / (kPaddedV / 8), column = i % (kPaddedV / 8) * 8;
      copy<16>(tile + kTile * kLineK + line * kLineV + column, value_at(first + line) + column,
               Index(first + line) < kKeys && column < kSizeV);
    }
  };
)";

constexpr const char* kTileStep = R"(
  float sums[kPaddedV / 8][4] = {}, most[2], total[2] = {};
  most[0] = most[1] = __int_as_float(0xff800000);
  const auto multiply_keys = [&](float (&s)[kTile / 8][4], const T* keys) {
#pragma unroll
    for (int k = 0; k < kPaddedK / 16; ++k) {
#pragma unroll
      for (int j = 0; j < kTile / 8; j += 2) {
        unsigned both[4];
        load_matrices<false>(both, keys + (j * 8 + low) * kLineK + k * 16 + high);
        const unsigned b[2][2] = {{both[0], both[2]}, {both[1], both[3]}};
        multiply(s[j], q[k], b[0]);
        multiply(s[j + 1], q[k], b[1]);
      }
    }
  };
  // Scores become weights; what was added up before is scaled to the new largest score.
  const auto weigh = [&](float (&s)[kTile / 8][4], Signed first, bool is_at_edge) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float above = most[i];
#pragma unroll
      for (int j = 0; j < kTile / 8; ++j) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          const Signed key = first + j * 8 + lane % 4 * 2 + c;
          float& x = s[j][i * 2 + c];
          x = is_at_edge && Index(key) >= kKeys ? __int_as_float(0xff800000)
                                         : adjust(own[i], x, key, is_at_edge, false);
          above = above < x ? x : above;
        }
      }
#pragma unroll
      for (int distance = 1; distance <= 2; distance *= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, above, distance);
        above = above < other ? other : above;
      }
      const float scale = weight_of(most[i], above);
      most[i] = above;
      total[i] *= scale;
#pragma unroll
      for (int j = 0; j < kTile / 8; ++j) {
#pragma unroll
        for (int c = 0; c < 2; ++c) {
          float& x = s[j][i * 2 + c];
          x = weight_of(x, above);
          total[i] += x;
        }
      }
#pragma unroll
      for (int j = 0; j < kPaddedV / 8; ++j) sums[j][i * 2] *= scale, sums[j][i * 2 + 1] *= scale;
    }
  };
  const auto multiply_values = [&](const float (&s)[kTile / 8][4], const T* values) {
#pragma unroll
    for (int k = 0; k < kTile / 8; k += 2) {
      const unsigned a[4] = {pack(s[k][0], s[k][1]), pack(s[k][2], s[k][3]),
                             pack(s[k + 1][0], s[k + 1][1]), pack(s[k + 1][2], s[k + 1][3])};
#pragma unroll
      for (int j = 0; j < kPaddedV / 8; j += 2) {
        unsigned both[4];
        load_matrices<true>(both,
                            values + (k * 8 + lane % 8 + high) * kLineV + j * 8 + (low & 8));
        const unsigned b[2][2] = {{both[0], both[2]}, {both[1], both[3]}};
        multiply(sums[j], a, b[0]);
        multiply(sums[j + 1], a, b[1]);
      }
    }
  };
)";

// One barrier a tile: behind it everybody has read the tile before, whose memory the next one
// takes.
constexpr const char* kWalk = R"(
  if (begin < end) fetch(tiles[0], begin);
  close_copies();
  int stage = 0;
#pragma unroll 1
  for (Signed first = begin; first < end; first += kTile, stage ^= 1) {
    await_copies<0>();
    __syncthreads();
    if (first + kTile < end) fetch(tiles[stage ^ 1], first + kTile);
    close_copies();
    float s[kTile / 8][4] = {};
    multiply_keys(s, tiles[stage]);
    if (first < inner_begin || first + kTile > inner_end) {
      weigh(s, first, true);
    } else {
      weigh(s, first, false);
    }
    multiply_values(s, tiles[stage] + kTile * kLineK);
  }
  await_copies<0>();
)";

// Four lanes have a row together; after gather_piece each has eight neighbours of a row.
constexpr const char* kStore = R"(
  float factor[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int distance = 1; distance <= 2; distance *= 2) {
      total[i] += __shfl_xor_sync(0xffffffffu, total[i], distance);
      const int sees_any = __shfl_xor_sync(0xffffffffu, int(own[i].sees_any), distance);
      own[i].sees_any = own[i].sees_any || sees_any != 0;
    }
    factor[i] = 1.0f / total[i];
  }
  const bool is_zero[2] = {$0, $1};
  T* const to = lane % 2 == 0 ? own[0].y : own[1].y;
  const bool is_stored = row + lane % 2 * 8 < kRows;
#pragma unroll
  for (int j = 0; j < kPaddedV / 8; j += 2) {
    float run[4][2];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int half = i / 2 % 2;
      run[i / 2][i % 2] = is_zero[half] ? 0.0f : sums[j + i / 4][i % 4] * factor[half];
    }
    gather_piece(run);
    const int column = (j + lane % 4 / 2) * 8;
    if (is_stored && column < kSizeV) {
      *reinterpret_cast<uint4*>(to + column) = {pack(run[0][0], run[0][1]), pack(run[1][0], run[1][1]),
                                                pack(run[2][0], run[2][1]), pack(run[3][0], run[3][1])};
    }
  }
)";

std::string constant(const char* type, const char* name, std::int64_t value) {
  return std::string("constexpr ") + type + " " + name + " = " + std::to_string(value) + ";\n";
}

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

/// Keys of a tile: as many as two tiles of keys and values have room for.
std::int64_t keys_of_tile(const Problem& p) {
  const std::int64_t line = round_up(p.k.size, 16) + round_up(p.v.size, 16) + 16;
  const bool is_room = 2 * 64 * line * 2 <= kMaxShared;
  return is_room && p.keys > 32 ? 64 : 32;
}

std::int64_t parts_of(const Problem& p, int warps) {
  const std::int64_t rows = kRowsOfWarp * warps;
  return (p.group() * p.q.length + rows - 1) / rows;
}

std::string constants_of(const sluice_op& op, const Problem& p, int warps) {
  const bool is_causal = plugin::Attributes(op).get_int("is_causal") != 0;
  return constant("int", "kTile", keys_of_tile(p)) + constant("int", "kThreads", 32L * warps) +
         constant("int", "kSizeK", p.k.size) + constant("int", "kSizeV", p.v.size) +
         constant("int", "kPaddedK", round_up(p.k.size, 16)) +
         constant("int", "kPaddedV", round_up(p.v.size, 16)) +
         "constexpr int kLineK = kPaddedK + 8, kLineV = kPaddedV + 8;\n" +
         constant("Index", "kRows", p.group() * p.q.length) +
         constant("Index", "kQueries", p.q.length) + constant("Index", "kKvHeads", p.k.heads) +
         constant("Index", "kStacks", p.q.batch * p.k.heads) +
         constant("Index", "kParts", parts_of(p, warps)) +
         constant("bool", "kIsCausal", is_causal ? 1 : 0) + constant("Index", "kKeys", p.keys);
}

}  // namespace

bool fits_matrix_tiles(const sluice_op& op, const Problem& p) {
  const auto fits = [](std::int64_t size) { return size > 0 && size <= kMaxSize && size % 8 == 0; };
  const sluice_element_type type = op.outputs[0].tensor.element_type;
  return (type == plugin::kF16 || type == plugin::kBf16) && !has_output(op, 3) && fits(p.k.size) &&
         fits(p.v.size) && p.rows() > 0 && p.keys > 0;
}

Status write_matrix_tiles(const sluice_op& op, const Problem& p, int warps, Source* source) {
  const bool is_f16 = op.outputs[0].tensor.element_type == plugin::kF16;
  const std::int64_t blocks = parts_of(p, warps) * p.q.batch * p.k.heads;
  if (!set_grid(blocks, 1, source)) return too_large(op);
  source->block = {32U * static_cast<unsigned>(warps), 1, 1};
  const std::int64_t num_threads = blocks * 32 * warps;
  Parameters parameters(op);
  Scores scores(op, p, &parameters);
  scores.add_operands();
  const std::string body =
      scores.join_past("Index(blockIdx.x) * kThreads + threadIdx.x", num_threads) + scores.query() +
      fill(kPlace, {scores.before()}) + scores.sight() + scores.point_at_keys() + kFragments +
      scores.adjust() + kTileStep + kWalk +
      fill(kStore, {scores.is_zero("own[0]", "total[0]"), scores.is_zero("own[1]", "total[1]")});
  const std::string functions = scores.element() + constants_of(op, p, warps) + kAsyncText +
                                kMatricesText + kWeightText +
                                (is_f16 ? kMultiplyF16Text : kMultiplyBf16Text) +
                                fill(kFunctions, {is_f16 ? "f16x2" : "bf16x2"});
  source->text = kernel_head(parameters, scores.largest(num_threads), functions) + body + "}\n";
  source->operands = parameters.operands();
  return plugin::ok();
}

Status write_matrix_tiles(const sluice_op& op, const Problem& p, Source* source) {
  int warps = kMaxWarps;
  while (warps > 1 && kRowsOfWarp * warps / 2 >= p.group() * p.q.length) warps /= 2;
  const std::int64_t blocks = parts_of(p, warps) * p.q.batch * p.k.heads;
  if (warps > 2 && blocks < kEnoughBlocks) warps = 2;
  return write_matrix_tiles(op, p, warps, source);
}

}  // namespace sluice::cuda
