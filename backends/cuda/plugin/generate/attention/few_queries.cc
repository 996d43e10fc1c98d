#include "plugin/generate/attention/few_queries.h"

#include <algorithm>

#include "plugin/generate/attention/scores.h"
#include "plugin/generate/tiles/copies.h"

namespace sluice::cuda {
namespace {

// The registers of a lane hold these rows of queries and of results. A block has no more.
constexpr std::int64_t kMaxRows = 8;

// Part of the 48 KiB of shared memory; the rest is for what is smaller than the values.
constexpr std::int64_t kMaxShared = 40 * 1024;

constexpr const char* kPart = R"(
// What some keys give a query: the largest score, the sum of the weights, the weighted values.
struct Part {
  float most, total, values[kVector];
};
)";

constexpr const char* kPlace = R"(
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = lane % kLanes * kVector;
  const Index kv = blockIdx.x / kParts % kKvHeads, batch = blockIdx.x / kParts / kKvHeads;
  const int first_row = int(blockIdx.x % kParts) * kRows;
  const int last_row = first_row + kRows < kAllRows ? first_row + kRows - 1 : kAllRows - 1;
  const bool is_one_head = first_row / kQueries == last_row / kQueries;
  const Signed before = $0;
  const Signed lowest = before + (is_one_head ? first_row % kQueries : 0);
  const Signed highest = before + (is_one_head ? last_row % kQueries : kQueries - 1);
  const auto query_at = [&](int row) {
    return find_query(batch, kv * (kAllRows / kQueries) + row / kQueries, row % kQueries);
  };
)";

constexpr const char* kQueriesText = R"(
  Query own[kRows];
  Run<T, kVector> q[kRows];
  Part parts[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    own[row] = query_at(first_row + row < last_row ? first_row + row : last_row);
    q[row] = {};
    if (column < kSizeK) q[row] = load_run<kVector>(own[row].q + column);
    parts[row] = {__int_as_float(0xff800000), 0.0f, {}};
  }
)";

constexpr const char* kWalk = R"(
#pragma unroll 1
  for (Signed first = begin; first < end; first += kStreams * kUnrolled) {
    Run<T, kVector> keys[kUnrolled] = {}, values[kUnrolled] = {};
    const Signed key = first + warp * (32 / kLanes) + lane / kLanes;
#pragma unroll
    for (int u = 0; u < kUnrolled; ++u) {
      const Signed j = key + u * kStreams;
      if (j < end && column < kSizeK) keys[u] = load_run<kVector>(key_at(j) + column);
    }
#pragma unroll
    for (int u = 0; u < kUnrolled; ++u) {
      const Signed j = key + u * kStreams;
      if (j < end && column < kSizeV) values[u] = load_run<kVector>(value_at(j) + column);
    }
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      float s[kUnrolled] = {}, above = parts[row].most;
#pragma unroll
      for (int u = 0; u < kUnrolled; ++u) {
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          s[u] = fmaf(float(q[row].at[i]), float(keys[u].at[i]), s[u]);
        }
#pragma unroll
        for (int distance = 1; distance < kLanes; distance *= 2) {
          s[u] += __shfl_xor_sync(0xffffffffu, s[u], distance);
        }
        const Signed j = key + u * kStreams;
        s[u] = j < end ? adjust(own[row], s[u], j, true, false) : __int_as_float(0xff800000);
        above = above < s[u] ? s[u] : above;
      }
      Part& part = parts[row];
      const float scale = weight_of(part.most, above);
      part.most = above;
      part.total *= scale;
#pragma unroll
      for (int i = 0; i < kVector; ++i) part.values[i] *= scale;
#pragma unroll
      for (int u = 0; u < kUnrolled; ++u) {
        const float weight = weight_of(s[u], above);
        part.total += weight;
#pragma unroll
        for (int i = 0; i < kVector; ++i) {
          part.values[i] = fmaf(weight, float(values[u].at[i]), part.values[i]);
        }
      }
    }
  }
)";

// First the lanes of a warp that have the same columns, then the warps. The elements of a lane lie
// kGap apart: neither writes nor reads meet in a bank.
constexpr const char* kJoin = R"(
  __shared__ float held[kWarps][kRows][kGap * kVector];
  __shared__ float held_most[kWarps][kRows], held_total[kWarps][kRows];
  __shared__ bool held_sees[kWarps][kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    Part& part = parts[row];
#pragma unroll
    for (int distance = kLanes; distance < 32; distance *= 2) {
      const float other = __shfl_xor_sync(0xffffffffu, part.most, distance);
      const float above = part.most < other ? other : part.most;
      const float scale = weight_of(part.most, above);
      part.most = above;
      part.total *= scale;
      part.total += __shfl_xor_sync(0xffffffffu, part.total, distance);
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        part.values[i] *= scale;
        part.values[i] += __shfl_xor_sync(0xffffffffu, part.values[i], distance);
      }
    }
    const bool sees_any = __any_sync(0xffffffffu, own[row].sees_any);
    if (lane < kLanes) {
#pragma unroll
      for (int i = 0; i < kVector; ++i) held[warp][row][i * kGap + lane] = part.values[i];
    }
    if (lane == 0) {
      held_most[warp][row] = part.most, held_total[warp][row] = part.total;
      held_sees[warp][row] = sees_any;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kRows * kSizeV; i += kThreads) {
    const int row = i / kSizeV, d = i % kSizeV, place = d % kVector * kGap + d / kVector;
    if (first_row + row > last_row) break;
    Query last = query_at(first_row + row);
    float most = __int_as_float(0xff800000), total = 0.0f, value = 0.0f;
    for (int from = 0; from < kWarps; ++from) {
      most = most < held_most[from][row] ? held_most[from][row] : most;
      last.sees_any = last.sees_any || held_sees[from][row];
    }
    for (int from = 0; from < kWarps; ++from) {
      const float scale = weight_of(held_most[from][row], most);
      total += held_total[from][row] * scale;
      value += held[from][row][place] * scale;
    }
    last.y[d] = $0 ? 0.0f : value / total;
  }
)";

std::string constant(const char* name, std::int64_t value) {
  return std::string("constexpr int ") + name + " = " + std::to_string(value) + ";\n";
}

/// Rows that read the same keys, and those of a block.
std::int64_t all_rows(const Problem& p) { return p.group() * p.q.length; }
std::int64_t block_rows(const Problem& p) { return std::min(all_rows(p), kMaxRows); }
std::int64_t parts_of(const Problem& p) {
  return (all_rows(p) + block_rows(p) - 1) / block_rows(p);
}

std::int64_t vector_of(const sluice_op& op) {
  return 128 / plugin::element_bits(op.outputs[0].tensor.element_type);
}

/// Lanes that have a key together.
std::int64_t lanes_of(const sluice_op& op, const Problem& p) {
  std::int64_t lanes = 1;
  while (lanes * vector_of(op) < std::max(p.k.size, p.v.size)) lanes *= 2;
  return lanes;
}

/// An odd multiple of the banks that the elements of a lane leave, unless all of them fit.
std::int64_t gap_of(const sluice_op& op, const Problem& p) {
  const std::int64_t lanes = lanes_of(op, p);
  const std::int64_t banks = 32 / vector_of(op);
  return lanes > banks ? lanes + banks : lanes;
}

/// As many as have registers, and room in shared memory for what they have in the end.
int warps_of(const sluice_op& op, const Problem& p) {
  const std::int64_t floats = block_rows(p) * gap_of(op, p) * vector_of(op);
  int warps = block_rows(p) <= 2 ? 16 : 8;
  while (warps > 1 && warps * floats * 4 > kMaxShared) warps /= 2;
  return warps;
}

std::string constants_of(const sluice_op& op, const Problem& p) {
  const std::int64_t vector = vector_of(op);
  const std::int64_t lanes = lanes_of(op, p);
  const int warps = warps_of(op, p);
  return constant("kRows", block_rows(p)) + constant("kAllRows", all_rows(p)) +
         constant("kParts", parts_of(p)) + constant("kQueries", p.q.length) +
         constant("kKvHeads", p.k.heads) + constant("kSizeK", p.k.size) +
         constant("kSizeV", p.v.size) + constant("kVector", vector) + constant("kLanes", lanes) +
         constant("kGap", gap_of(op, p)) + constant("kWarps", warps) +
         constant("kThreads", 32L * warps) + constant("kStreams", warps * 32 / lanes) +
         constant("kUnrolled", block_rows(p) <= 4 ? 4 : 2);
}

}  // namespace

bool is_few_queries(const Problem& p) { return all_rows(p) <= kMaxRows; }

bool fits_few_queries(const sluice_op& op, const Problem& p) {
  const std::int64_t vector = vector_of(op);
  const auto fits = [&](std::int64_t size) {
    return size > 0 && size <= 32 * vector && size % vector == 0;
  };
  return !has_output(op, 3) && p.rows() > 0 && p.keys > 0 && all_rows(p) <= INT32_MAX / 2 &&
         fits(p.k.size) && fits(p.v.size);
}

Status write_few_queries(const sluice_op& op, const Problem& p, Source* source) {
  const std::int64_t blocks = p.q.batch * p.k.heads * parts_of(p);
  if (!set_grid(blocks, 1, source)) return too_large(op);
  source->block = {32U * static_cast<unsigned>(warps_of(op, p)), 1, 1};
  const std::int64_t num_threads = blocks * source->block[0];
  Parameters parameters(op);
  Scores scores(op, p, &parameters);
  scores.add_operands();
  std::string body = scores.join_past("Index(blockIdx.x) * kThreads + threadIdx.x", num_threads);
  body += scores.query() + fill(kPlace, {scores.before()}) + scores.sight() +
          scores.point_at_keys() + kQueriesText + scores.adjust() + kWalk +
          fill(kJoin, {scores.is_zero("last", "total")});
  const std::string functions =
      scores.element() + constants_of(op, p) + kRunsText + kWeightText + kPart;
  source->text = kernel_head(parameters, scores.largest(num_threads), functions) + body + "}\n";
  source->operands = parameters.operands();
  return plugin::ok();
}

}  // namespace sluice::cuda
