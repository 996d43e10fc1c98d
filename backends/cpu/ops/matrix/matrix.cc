// MatMul and Gemm.

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/body/body_builder.h"
#include "ops/matrix/matrix_kernel.h"
#include "ops/matrix/matrix_tactics.h"
#include "ops/matrix/stacks/matrix_vector.h"
#include "ops/matrix/stacks/number_matrix.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

Status check_common(const sluice_op& op) {
  for (const auto& operands : {plugin::inputs_of(op), plugin::outputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      if (plugin::is_absent(operand.tensor)) continue;
      if (operand.tensor.element_type != plugin::kF32) return unimplemented("not f32");
      if (operand.tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) return unimplemented("blocked layout");
    }
  }
  if (op.body == nullptr) return plugin::ok();
  Chain chain;
  if (Status status = translate_body(op, &chain); !status.is_ok()) return status;
  return check_sources(op, chain, op.outputs[0].tensor);
}

Status check_k(const sluice_op& op, std::int64_t a, std::int64_t b) {
  if (a == b || a < 0 || b < 0) return plugin::ok();
  return plugin::invalid_argument(plugin::kind_of(op) + ": " +
                                  plugin::to_string(dims_of(op.inputs[0].tensor)) + " times " +
                                  plugin::to_string(dims_of(op.inputs[1].tensor)));
}

/// The type in which the compiled model keeps the weights. With kInt8 the rows of the other factor
/// are rounded to 8 bits as well.
WeightType weight_type(const sluice_op& op) {
  const std::string_view word = plugin::Attributes(op).get_text("sluice_weights", "f32");
  if (word == "bf16") return WeightType::kBf16;
  const bool has_columns_of_a = plugin::Attributes(op).get_int("transA") != 0;
  return word == "int8" && !has_columns_of_a ? WeightType::kInt8 : WeightType::kF32;
}

/// The cut that the compiled model allows for a product of `rows` rows with these weights. No cut
/// if the number of rows is unknown (0): it was unknown, too, when the weights were packed.
StrassenCut strassen_cut(const sluice_op& op, std::int64_t rows, const MatrixConstant& constant) {
  if (constant.type != WeightType::kF32) return {};
  const std::int64_t levels = plugin::Attributes(op).get_int("sluice_strassen");
  return find_strassen_cut(rows, constant.k, constant.n, levels);
}

/// Uses the weights in the form that the package has. They may have been packed before the number
/// of rows was known, so without a cut.
Status take_packed_b(const sluice_op& op, MatrixConstant constant, Isa isa,
                     MatrixProduct* product) {
  const sluice_operand& b = op.inputs[1];
  if (constant.k != product->plan.k || constant.n != product->plan.n) {
    return unimplemented("a result of another shape than the product");
  }
  if (b.packed != nullptr && b.packed_bytes != packed_bytes(constant, isa)) constant.cut = {};
  if (b.tensor.data == nullptr && b.packed_bytes != packed_bytes(constant, isa)) {
    return plugin::invalid_argument(plugin::kind_of(op) + ": packed weights of " +
                                    std::to_string(b.packed_bytes) + " bytes, not " +
                                    std::to_string(packed_bytes(constant, isa)));
  }
  product->constant_b = constant;
  product->plan.b_form = constant.type == WeightType::kBf16 ? GemmB::kPackedBf16 : GemmB::kPacked;
  return plugin::ok();
}

// ---- MatMul -------------------------------------------------------------------------------------

Status check_matmul(const sluice_op& op) {
  if (op.num_inputs != 2) return plugin::invalid_argument("MatMul takes two inputs");
  if (is_number_product(op)) return check_number_product(op);
  const auto a = dims_of(op.inputs[0].tensor);
  const auto b = dims_of(op.inputs[1].tensor);
  if (a.size() < 2 || b.size() < 2) return unimplemented("MatMul of a vector");
  if (Status status = check_k(op, a.back(), b[b.size() - 2]); !status.is_ok()) return status;
  return check_common(op);
}

/// Product of all dimensions but the last, or a number that is large enough; 0 where one is not
/// known.
std::int64_t rows_of(const sluice_tensor& a) {
  constexpr std::int64_t kMany = 1 << 20;
  const auto dims = dims_of(a);
  std::int64_t rows = 1;
  for (const std::int64_t dim : dims.first(dims.size() - 1)) {
    rows = std::min(rows * std::clamp<std::int64_t>(dim, 0, kMany), kMany);
  }
  return rows;
}

MatrixConstant matmul_constant(const sluice_op& op) {
  const auto b = dims_of(op.inputs[1].tensor);
  MatrixConstant constant = {b[0], b[1], b[1], 1, 1, weight_type(op), {}, Storage::kF32};
  constant.cut = strassen_cut(op, rows_of(op.inputs[0].tensor), constant);
  return constant;
}

sluice_packing matmul_packing(const sluice_op& op, int input, Isa isa) {
  if (input != 1 || !is_packable(op.inputs[1]) || is_number_product(op)) return {};
  return describe_packing(matmul_constant(op), isa);
}

void pack_matmul(const sluice_op& op, int, Isa isa, void* packed) {
  pack_matrix(matmul_constant(op), op.inputs[1].tensor.data, isa, packed);
}

/// Batch dimensions that walk A, B and C together; false when there are too many, or A's or B's do
/// not broadcast to C's.
bool plan_batch(std::span<const std::int64_t> a, std::span<const std::int64_t> b,
                std::span<const std::int64_t> out, GemmPlan* plan) {
  const std::size_t batch = out.size() - 2;
  if (batch > kGemmBatchRank || !broadcasts_to(a.first(a.size() - 2), out.first(batch)) ||
      !broadcasts_to(b.first(b.size() - 2), out.first(batch))) {
    return false;
  }
  const Dims strides_a = broadcast_strides(a.first(a.size() - 2), out.first(batch));
  const Dims strides_b = broadcast_strides(b.first(b.size() - 2), out.first(batch));
  const Dims strides_c = broadcast_strides(out.first(batch), out.first(batch));
  for (std::size_t i = 0; i < batch; ++i) {
    const std::size_t at = kGemmBatchRank - batch + i;
    plan->batch_dims[at] = out[i];
    plan->a_batch.stride[at] = strides_a[i] * plan->m * plan->k;
    plan->b_batch.stride[at] = strides_b[i] * plan->k * plan->n;
    plan->c_batch.stride[at] = strides_c[i] * plan->m * plan->n;
  }
  return true;
}

Status read_matmul(const sluice_op& op, Isa isa, MatrixProduct* product) {
  const auto a = dims_of(op.inputs[0].tensor);
  const auto b = dims_of(op.inputs[1].tensor);
  const auto out = dims_of(op.outputs[0].tensor);
  GemmPlan& plan = product->plan;
  plan.blocks = gemm_blocks(op, isa);
  plan.m = a[a.size() - 2];
  plan.k = a.back();
  plan.n = b.back();
  plan.a_row = plan.k;
  plan.c_row = plan.n;
  plan.b_row = plan.n;
  plan.b_form = GemmB::kRows;
  if (plan.k == 0) return unimplemented("MatMul over nothing");
  if (out.size() != std::max(a.size(), b.size())) return unimplemented("a result of another rank");
  if (b.size() == 2) {
    for (std::size_t i = 0; i + 2 < a.size(); ++i) plan.m *= a[i];
    product->merged_dims = static_cast<int>(a.size()) - 2;
    if (is_packable(op.inputs[1])) {
      Status taken = take_packed_b(op, matmul_constant(op), isa, product);
      if (!taken.is_ok()) return taken;
    }
  } else if (!plan_batch(a, b, out, &plan)) {
    return unimplemented("MatMul with too many batch dimensions");
  }
  return op.body == nullptr ? plugin::ok() : translate_body(op, &product->chain);
}

// ---- Gemm ---------------------------------------------------------------------------------------

struct GemmAttributes {
  explicit GemmAttributes(const plugin::Attributes& attributes)
      : alpha(attributes.get_float("alpha", 1)),
        beta(attributes.get_float("beta", 1)),
        trans_a(attributes.get_int("transA") != 0),
        trans_b(attributes.get_int("transB") != 0) {}
  float alpha;
  float beta;
  bool trans_a;
  bool trans_b;
};

bool has_c(const sluice_op& op) {
  return op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor);
}

Status check_gemm(const sluice_op& op) {
  if (op.num_inputs < 2) return plugin::invalid_argument("Gemm takes two or three inputs");
  if (is_number_product(op)) return check_number_product(op);
  const GemmAttributes attributes(op);
  const auto a = dims_of(op.inputs[0].tensor);
  const auto b = dims_of(op.inputs[1].tensor);
  if (a.size() != 2 || b.size() != 2 || op.outputs[0].tensor.rank != 2) {
    return plugin::invalid_argument("Gemm multiplies matrices");
  }
  if (has_c(op) && op.body != nullptr && attributes.beta != 1)
    return unimplemented("beta and body");
  if (has_c(op) && !broadcasts_to(dims_of(op.inputs[2].tensor), dims_of(op.outputs[0].tensor))) {
    return plugin::invalid_argument("Gemm: C does not broadcast to the result");
  }
  if (Status status = check_k(op, a[attributes.trans_a ? 0 : 1], b[attributes.trans_b ? 1 : 0]);
      !status.is_ok()) {
    return status;
  }
  return check_common(op);
}

MatrixConstant gemm_constant(const sluice_op& op) {
  const GemmAttributes attributes(op);
  const auto b = dims_of(op.inputs[1].tensor);
  MatrixConstant constant = {b[0], b[1],         b[1], 1, attributes.alpha, weight_type(op),
                             {},   Storage::kF32};
  if (attributes.trans_b) {
    std::swap(constant.k, constant.n);
    std::swap(constant.step, constant.column);
  }
  const std::int64_t rows = dims_of(op.inputs[0].tensor)[0];
  if (!attributes.trans_a) constant.cut = strassen_cut(op, rows, constant);
  return constant;
}

sluice_packing gemm_packing(const sluice_op& op, int input, Isa isa) {
  if (input != 1 || !is_packable(op.inputs[1]) || is_number_product(op)) return {};
  return describe_packing(gemm_constant(op), isa);
}

void pack_gemm(const sluice_op& op, int, Isa isa, void* packed) {
  pack_matrix(gemm_constant(op), op.inputs[1].tensor.data, isa, packed);
}

/// C is one float per column, to be used as the bias.
bool is_bias(const sluice_op& op, float beta) {
  const sluice_tensor& c = op.inputs[2].tensor;
  const sluice_tensor& out = op.outputs[0].tensor;
  return beta == 1 && c.rank > 0 && c.dims[c.rank - 1] == out.dims[1] &&
         (c.rank == 1 || c.dims[0] == 1);
}

/// alpha (where B could not take it) and beta * C, before the body's own steps.
Status add_scales(const sluice_op& op, const GemmAttributes& attributes, MatrixProduct* product) {
  const bool scaled = attributes.alpha != 1 && !product->constant_b;
  const bool added = has_c(op) && product->bias_input < 0;
  if (!scaled && !added) return plugin::ok();
  if (op.body != nullptr) return unimplemented("Gemm with scales and a body");
  BodyBuilder builder(added ? 2 : 1);
  int result = 0;
  if (scaled) result = builder.add_step(BodyOp::kScale, result, 0, attributes.alpha);
  if (added) {
    const int c =
        attributes.beta == 1 ? 1 : builder.add_step(BodyOp::kScale, 1, 0, attributes.beta);
    result = builder.add_step(BodyOp::kAdd, result, c);
  }
  product->chain.sources = {{ChainSource::From::kResult, 0, &op.outputs[0].tensor}};
  if (added) {
    product->chain.sources.push_back({ChainSource::From::kRunInput, 2, &op.inputs[2].tensor});
  }
  builder.finish(result, &product->chain.body);
  return plugin::ok();
}

Status read_gemm(const sluice_op& op, Isa isa, MatrixProduct* product) {
  const GemmAttributes attributes(op);
  const auto a = dims_of(op.inputs[0].tensor);
  const auto out = dims_of(op.outputs[0].tensor);
  GemmPlan& plan = product->plan;
  plan.blocks = gemm_blocks(op, isa);
  plan.m = out[0];
  plan.n = out[1];
  plan.k = a[attributes.trans_a ? 0 : 1];
  plan.a_row = attributes.trans_a ? 1 : plan.k;
  plan.a_step = attributes.trans_a ? plan.m : 1;
  plan.c_row = plan.n;
  plan.b_row = attributes.trans_b ? plan.k : plan.n;
  plan.b_form = attributes.trans_b ? GemmB::kColumns : GemmB::kRows;
  if (plan.k == 0) return unimplemented("Gemm over nothing");
  if (is_packable(op.inputs[1])) {
    Status taken = take_packed_b(op, gemm_constant(op), isa, product);
    if (!taken.is_ok()) return taken;
  }
  // The kernel adds the bias before an epilogue could apply alpha, so alpha must be 1 or part of
  // the packed B.
  const bool alpha_done = attributes.alpha == 1 || product->constant_b;
  if (has_c(op) && alpha_done && is_bias(op, attributes.beta)) product->bias_input = 2;
  if (Status status = add_scales(op, attributes, product); !status.is_ok()) return status;
  return op.body == nullptr ? plugin::ok() : translate_body(op, &product->chain);
}

// ---- both ---------------------------------------------------------------------------------------

using Reader = Status (*)(const sluice_op& op, Isa isa, MatrixProduct* product);

template <Reader kRead>
Status make(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  if (is_number_product(op)) return make_number_product(op, isa, kernel);
  if (is_matrix_by_vector(op)) return make_matrix_by_vector(op, isa, kernel);
  MatrixProduct product;
  if (Status status = kRead(op, isa, &product); !status.is_ok()) return status;
  *kernel = std::make_unique<MatrixKernel>(op, std::move(product), isa);
  return plugin::ok();
}

template <Reader kRead>
std::vector<std::string> list_tactics(const sluice_op& op, Isa isa, int workers) {
  if (is_number_product(op) || is_matrix_by_vector(op)) return {};
  MatrixProduct product;
  if (!kRead(op, isa, &product).is_ok()) return {};
  const auto& b = product.constant_b;
  if (b && b->cut.levels > 0) return {};
  return list_gemm_tactics(product.plan, b && b->type == WeightType::kInt8, workers);
}

}  // namespace

std::vector<OpEntry> matrix_entries() {
  return {{.kind = "MatMul",
           .check = check_matmul,
           .make = make<read_matmul>,
           .packing = matmul_packing,
           .pack = pack_matmul,
           .tactics = list_tactics<read_matmul>,
           .num_required_inputs = 2},
          {.kind = "Gemm",
           .check = check_gemm,
           .make = make<read_gemm>,
           .packing = gemm_packing,
           .pack = pack_gemm,
           .tactics = list_tactics<read_gemm>,
           .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
