// sluice::RoutedMatMul: products of rows with the matrices that they are routed to. A warp computes
// some columns of one row's product with one matrix, whose lines its lanes read together. Blocks of
// the same columns are neighbours, so rows of one matrix find its lines in the cache.

#include <algorithm>

#include "plugin/generate/families.h"
#include "plugin/generate/text/narrow_numbers.h"
#include "plugin/generate/text/warp_rows.h"
#include "sluice/element_types.hpp"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"sluice::RoutedMatMul", nullptr};

enum Operand : int { kA, kB, kScales, kZeros, kRoutes, kNumOperands };

constexpr int kWarps = 8;
constexpr int kColumns = 4;  // of a warp

/// A [tokens, k] or [tokens, each, k], b [matrices, n, k] with a scale for each `block` of k.
struct Problem {
  std::int64_t tokens = -1, each = -1, matrices = -1, n = -1, k = -1;
  std::int64_t block = 0;  ///< 0: there are no scales
  bool has_own_rows = false;

  std::int64_t blocks() const { return block > 0 ? k / block : 0; }
};

/// Scales or zeros fit as far as dimensions are known.
bool fits_blocks(const sluice_op& op, int input, const Problem& p) {
  if (!has_operand(op, input)) return true;
  const Dims dims = plugin::dims_of(op.inputs[input].tensor);
  return dims.size() == 3 && agree(dims[0], p.matrices) && agree(dims[1], p.n) &&
         (p.k < 0 || agree(dims[2], p.blocks()));
}

/// False where the shapes contradict each other. Requires: the ranks are those of the operator.
bool find_problem(const sluice_op& op, Problem* problem) {
  const Dims a = plugin::dims_of(op.inputs[kA].tensor);
  const Dims b = plugin::dims_of(op.inputs[kB].tensor);
  const Dims routes = plugin::dims_of(op.inputs[kRoutes].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  Problem& p = *problem;
  p = {routes[0], routes[1], b[0], b[1], b[2], plugin::Attributes(op).get_int("block_size")};
  p.has_own_rows = a.size() == 3;
  const bool is_scaled = has_operand(op, kScales);
  if (p.block < 0 || is_scaled != (p.block > 0) || (!is_scaled && has_operand(op, kZeros))) {
    return false;
  }
  if (p.block > 0 && p.k >= 0 && p.k % p.block != 0) return false;
  return agree(a[0], p.tokens) && (!p.has_own_rows || agree(a[1], p.each)) &&
         agree(a.back(), p.k) && agree(y[0], p.tokens) && agree(y[1], p.each) && agree(y[2], p.n) &&
         fits_blocks(op, kScales, p) && fits_blocks(op, kZeros, p);
}

Status check(const sluice_op& op) {
  if (op.body != nullptr) return plugin::unimplemented("RoutedMatMul: a fused body");
  if (op.num_inputs != kNumOperands || op.num_outputs != 1) return shapes_disagree(op);
  const auto tensor = [&](int input) { return op.inputs[input].tensor; };
  const sluice_element_type type = tensor(kB).element_type;
  bool fits = tensor(kA).element_type == plugin::kF32 &&
              tensor(kRoutes).element_type == plugin::kI64 &&
              op.outputs[0].tensor.element_type == plugin::kF32 &&
              (type == plugin::kF32 || is_narrow(type)) &&
              op.outputs[0].tensor.layout == SLUICE_LAYOUT_ROW_MAJOR;
  for (int i = 0; i < kNumOperands; ++i) {
    fits = fits && (!has_operand(op, i) || tensor(i).layout == SLUICE_LAYOUT_ROW_MAJOR);
  }
  if (has_operand(op, kScales)) fits = fits && tensor(kScales).element_type == plugin::kF32;
  if (has_operand(op, kZeros)) {
    const sluice_element_type zeros = tensor(kZeros).element_type;
    fits = fits && (zeros == plugin::kF32 || is_narrow(zeros));
  }
  if (!fits) {
    return plugin::unimplemented(
        "RoutedMatMul: operands must be row-major, rows of f32, routes of i64");
  }
  const std::int32_t rank = tensor(kA).rank;
  Problem problem;
  const bool has_ranks = (rank == 2 || rank == 3) && tensor(kB).rank == 3 &&
                         tensor(kRoutes).rank == 2 && op.outputs[0].tensor.rank == 3;
  return has_ranks && find_problem(op, &problem) ? plugin::ok() : shapes_disagree(op);
}

// `$0` checks the route `at`; `$1` applies scales. A row without a matrix, at -1, becomes zeros.
constexpr const char* kText = R"(
  const int lane = threadIdx.x % 32;
  const Index pair = Index(blockIdx.x) % kPairs;
  const Index first =
      Index(blockIdx.x) / kPairs * (kWarps * kColumns) + threadIdx.x / 32 * kColumns;
  long long at = routes[pair];
  if (at == -1) {
    if (lane < kColumns && first + lane < kN) y[pair * kN + first + lane] = 0;
    return;
  }
$0  const Index lines = Index(at) * kN;
  const float* const row = a + (kHasOwnRows ? pair : pair / kEach) * kK;
  float sums[kColumns] = {};
#pragma unroll 2
  for (int k = lane * kVector; k < kK; k += 32 * kVector) {
    float w[kColumns][kVector];
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
      const Index line = lines + (first + j < kN ? first + j : kN - 1);
      weights<kVector, B, kBits>(b, line * kK + k, w[j]);
$1    }
#pragma unroll
    for (int i = 0; i < kVector; ++i) {
      const float factor = row[k + i];
#pragma unroll
      for (int j = 0; j < kColumns; ++j) sums[j] = fmaf(factor, w[j][i], sums[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    const float sum = sum_of_warp(sums[j]);
    if (lane == 0 && first + j < kN) y[pair * kN + first + j] = sum;
  }
}
)";

constexpr const char* kScaleText = R"(#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        const Index block = line * kBlocks + (k + i) / kBlock;
        w[j][i] = (w[j][i] - zero(block)) * scales[block];
      }
)";

std::string constant(const char* name, std::int64_t value) {
  return std::string("constexpr int ") + name + " = " + std::to_string(value) + ";\n  ";
}

Status write(const sluice_op& op, Source* source) {
  Problem p;
  if (!find_problem(op, &p)) return shapes_disagree(op);
  const sluice_element_type type = op.inputs[kB].tensor.element_type;
  const std::string name = narrow_type_name(type);
  const int bits = plugin::element_bits(type);
  const std::int64_t vector = numbers_of_a_load(p.k, bits);
  const std::int64_t pairs = p.tokens * p.each;
  Parameters parameters(op);
  std::string body = "  const float* const a = " + parameters.add(kA) + ";\n";
  body += "  typedef " + name + " B;\n  const B* const b = reinterpret_cast<const B*>(" +
          parameters.add(kB) + ");\n  const long long* const routes = " + parameters.add(kRoutes) +
          ";\n  ";
  if (p.block > 0) body += "const float* const scales = " + parameters.add(kScales) + ";\n  ";
  body += constant("kPairs", pairs) + constant("kEach", p.each) + constant("kN", p.n) +
          constant("kK", p.k) + constant("kBits", bits) + constant("kBlock", p.block) +
          constant("kBlocks", p.blocks()) + constant("kVector", vector) +
          constant("kWarps", kWarps) + constant("kColumns", kColumns) +
          constant("kHasOwnRows", p.has_own_rows ? 1 : 0);
  if (p.block > 0) body += zero_text(op, kZeros, &parameters);
  parameters.report_indices();
  body += fill(kText, {check_place(p.matrices, p.matrices, 0), p.block > 0 ? kScaleText : ""});
  const std::int64_t largest =
      std::max({p.matrices * p.n * p.k, pairs * p.k, pairs * p.n}) + 32 * vector;
  source->text = warp_function("sum_of_warp", "a + b") + kernel_head(parameters, largest) + body;
  source->text.insert(source->text.find("\nextern \"C\""), narrow_functions());
  source->operands = parameters.operands();
  source->reports_indices = true;
  source->block = {32 * kWarps, 1, 1};
  const std::int64_t tiles = (p.n + kWarps * kColumns - 1) / (kWarps * kColumns);
  return set_grid(tiles * pairs, 1, source) ? plugin::ok() : too_large(op);
}

}  // namespace

const Family kRoutedProductFamily = {kKinds, check, write};

}  // namespace sluice::cuda
