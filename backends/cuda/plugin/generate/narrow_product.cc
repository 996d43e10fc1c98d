// sluice::NarrowMatMul: a product with weights of few bits, which pass through memory as they are.
//
// Weights of a column that are neighbours in memory (transB) are read by the lanes of a warp, which
// adds them up at the end; else neighbouring columns are read by the lanes, and the warps of a
// block divide k. Either way a block computes kRows rows of the result, so that it reads a weight
// once for all of them.

#include <algorithm>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/text/narrow_numbers.h"
#include "plugin/generate/text/warp_rows.h"
#include "sluice/element_types.hpp"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"sluice::NarrowMatMul", nullptr};

enum Operand : int { kA, kB, kScales, kZeros };

constexpr std::int64_t kMostRows = 8;  // a thread has a sum of each, for each of its columns
constexpr int kWarps = 8;
constexpr int kColumns = 4;  // of a warp, where neighbours are of one column

struct Problem {
  std::int64_t m = -1, n = -1, k = -1;
  std::int64_t places = -1;  ///< elements of a line of b along k: k, or more in its last block
  std::int64_t block = 0;    ///< elements that share a scale; 0: there are none
  bool is_along_k = false;   ///< neighbours of b in memory are of one column

  std::int64_t blocks() const { return block > 0 ? (places + block - 1) / block : 0; }
};

/// False where the shapes contradict each other.
bool find_problem(const sluice_op& op, Problem* problem) {
  const plugin::Attributes attributes(op);
  const Dims a = plugin::dims_of(op.inputs[kA].tensor);
  const Dims b = plugin::dims_of(op.inputs[kB].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  if (a.empty() || b.size() != 2 || y.size() != a.size()) return false;
  Problem& p = *problem;
  p.is_along_k = attributes.get_int("transB") != 0;
  p.block = attributes.get_int("block_size");
  p.k = a.back();
  p.n = b[p.is_along_k ? 0 : 1];
  p.places = b[p.is_along_k ? 1 : 0];
  p.m = 1;
  for (const std::int64_t dim : a.first(a.size() - 1)) p.m = dim < 0 || p.m < 0 ? -1 : p.m * dim;
  if (!agree(a.first(a.size() - 1), y.first(y.size() - 1)) || !agree(y.back(), p.n)) return false;
  if (p.block < 0 || p.n < 0 || p.places < 0) return p.block >= 0;
  if (p.k >= 0) {
    const std::int64_t spare = p.is_along_k ? std::max<std::int64_t>(p.block, 1) : 1;
    if (p.places < p.k || p.places >= p.k + spare) return false;
  }
  const std::int64_t num_scales = p.blocks() * p.n;
  const auto count = [&](int input) { return plugin::num_elements(op.inputs[input].tensor); };
  const bool has_scales = has_operand(op, kScales);
  if (has_scales != (p.block > 0) || (has_scales && count(kScales) != num_scales)) return false;
  return !has_operand(op, kZeros) || count(kZeros) == 1 || count(kZeros) == num_scales;
}

Status check(const sluice_op& op) {
  if (Status status = check_floats(op, 1); !status.is_ok()) return status;
  bool fits = op.num_inputs > kB && is_narrow(op.inputs[kB].tensor.element_type) &&
              op.inputs[kA].tensor.element_type == plugin::kF32;
  for (int i = kB; i < op.num_inputs; ++i) {
    fits = fits && op.inputs[i].tensor.layout == SLUICE_LAYOUT_ROW_MAJOR;
  }
  if (!fits) {
    return plugin::unimplemented("NarrowMatMul: operands must be row-major, of f32 and few bits");
  }
  Problem problem;
  return find_problem(op, &problem) ? plugin::ok() : shapes_disagree(op);
}

// What `$0` in the texts below stands for, where weights have scales.
constexpr const char* kScaleAlong = R"(#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        const Index at = column * kBlocks + (k + i) / kBlock;
        w[j][i] = (w[j][i] - zero(at)) * scales[at];
      }
)";
constexpr const char* kScaleAcross = R"(    const Index at = Index(k / kBlock) * kN + column;
    w = (w - zero(at)) * scales[at];
)";

constexpr const char* kAlongText = R"(
  const int lane = threadIdx.x % 32;
  const Index first = Index(blockIdx.x / kChunks) * (kWarps * kColumns) + threadIdx.x / 32 * kColumns;
  const Index row = Index(blockIdx.x % kChunks) * kRows;
  float sums[kRows][kColumns] = {};
#pragma unroll 2
  for (int k = lane * kVector; k < kK; k += 32 * kVector) {
    float w[kColumns][kVector];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const Index column = first + j < kN ? first + j : kN - 1;
      weights<kVector, B, kBits>(b, column * kPlaces + k, w[j]);
$0    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const Index from = (row + r < kM ? row + r : kM - 1) * kK + k;
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        const float factor = kK % kVector == 0 || k + i < kK ? a[from + i] : 0.0f;
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          if (kK % kVector == 0 || k + i < kK) sums[r][j] = fmaf(factor, w[j][i], sums[r][j]);
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const float sum = sum_of_warp(sums[r][j]);
      if (lane == 0 && row + r < kM && first + j < kN) {
        const Index i = (row + r) * kN + first + j;
)";

constexpr const char* kAcrossText = R"(
  __shared__ float parts[kWarps][kRows][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Index first = Index(blockIdx.x / kChunks) * 32, row = Index(blockIdx.x % kChunks) * kRows;
  const Index column = first + lane < kN ? first + lane : kN - 1;
  float sums[kRows] = {};
#pragma unroll 8
  for (int k = warp; k < kK; k += kWarps) {
    float w = number<B, kBits>(b, Index(k) * kN + column);
$0#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      sums[r] = fmaf(a[(row + r < kM ? row + r : kM - 1) * kK + k], w, sums[r]);
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) parts[warp][r][lane] = sums[r];
  __syncthreads();
  for (int r = warp; r < kRows; r += kWarps) {
    float sum = 0.0f;
    for (int part = 0; part < kWarps; ++part) sum += parts[part][r][lane];
    {
      if (row + r < kM && first + lane < kN) {
        const Index i = (row + r) * kN + first + lane;
)";

std::string constant(const char* name, std::int64_t value) {
  return std::string("constexpr int ") + name + " = " + std::to_string(value) + ";\n  ";
}

Status write(const sluice_op& op, Source* source) {
  Problem p;
  if (!find_problem(op, &p)) return shapes_disagree(op);
  const sluice_tensor& b = op.inputs[kB].tensor;
  const int bits = plugin::element_bits(b.element_type);
  const std::int64_t vector = numbers_of_a_load(p.places, bits);
  const std::int64_t rows = std::min(p.m, kMostRows);
  const std::int64_t chunks = (p.m + rows - 1) / rows;
  Parameters parameters(op);
  std::string body =
      "  const float* const a = " + parameters.add(kA) + ";\n  const auto* const b = ";
  body += "reinterpret_cast<const " + narrow_type_name(b.element_type) + "*>(" +
          parameters.add(kB) + ");\n  ";
  body += "typedef " + narrow_type_name(b.element_type) + " B;\n  ";
  if (p.block > 0) body += "const float* const scales = " + parameters.add(kScales) + ";\n  ";
  body += constant("kM", p.m) + constant("kN", p.n) + constant("kK", p.k) +
          constant("kPlaces", p.places) + constant("kBits", bits) + constant("kBlock", p.block) +
          constant("kBlocks", p.blocks()) + constant("kVector", vector) + constant("kRows", rows) +
          constant("kChunks", chunks) + constant("kWarps", kWarps) + constant("kColumns", kColumns);
  if (p.block > 0) body += zero_text(op, kZeros, &parameters);
  add_body_inputs(op, &parameters);
  const char* const scale = p.is_along_k ? kScaleAlong : kScaleAcross;
  body += fill(p.is_along_k ? kAlongText : kAcrossText, {p.block > 0 ? scale : ""});
  body += store_result(op, "sum", "i") + "      }\n    }\n  }\n}\n";
  const std::int64_t largest =
      std::max({p.n * p.places, p.m * p.k, p.m * p.n}) + 32 * vector;  // before a bound is tested
  source->text = std::string(warp_function("sum_of_warp", "a + b")) + constants_text(op) +
                 kernel_head(parameters, largest) + body;
  const std::size_t head = source->text.find("\nextern \"C\"");
  source->text.insert(head, narrow_functions());
  source->operands = parameters.operands();
  source->block = {32 * kWarps, 1, 1};
  const std::int64_t columns = p.is_along_k ? std::int64_t{kWarps} * kColumns : 32;
  const std::int64_t tiles = (p.n + columns - 1) / columns * chunks;
  return set_grid(tiles, 1, source) ? plugin::ok() : too_large(op);
}

}  // namespace

const Family kNarrowProductFamily = {kKinds, check, write};

}  // namespace sluice::cuda
