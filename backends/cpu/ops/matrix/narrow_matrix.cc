// sluice::NarrowMatMul: products with constant matrices of fewer than 32 bits.

#include <memory>
#include <string>
#include <utility>

#include "ops/matrix/matrix_kernel.h"
#include "ops/matrix/matrix_tactics.h"
#include "ops/matrix/routed_matrix.h"
#include "plugin/registry.h"

namespace sluice::cpu {
namespace {

using plugin::dims_of;
using plugin::unimplemented;

bool is_sixteen_bits(const sluice_tensor& tensor) {
  return tensor.element_type == plugin::kF16 || tensor.element_type == plugin::kBf16;
}

/// Numbers with scales by blocks of a row. Bytes with one scale per column that may be multiplied
/// in 8 bits go into panels instead.
bool has_blocks(const sluice_op& op) {
  const sluice_tensor& b = op.inputs[1].tensor;
  switch (b.element_type) {
    case plugin::kU4:
    case plugin::kI4:
    case plugin::kU8: return true;
    case plugin::kI8: break;
    default: return false;
  }
  const plugin::Attributes attributes(op);
  const std::int64_t k = b.dims[attributes.get_int("transB") != 0 ? 1 : 0];
  const sluice_tensor& a = op.inputs[0].tensor;
  const std::int64_t given = a.rank > 0 ? a.dims[a.rank - 1] : k;
  return attributes.get_text("sluice_weights", "") != "int8" ||
         attributes.get_int("block_size") != k || (given >= 0 && given != k);
}

bool has_bytes(const sluice_op& op) {
  return op.inputs[1].tensor.element_type == plugin::kI8 && !has_blocks(op);
}

/// Weights of i8 with a constant scale per column, which may be multiplied in 8 bits.
Status check_bytes(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  const sluice_tensor& b = op.inputs[1].tensor;
  const bool is_flipped = attributes.get_int("transB") != 0;
  const std::int64_t n = b.dims[is_flipped ? 0 : 1];
  const bool has_scales =
      op.num_inputs == 3 && op.inputs[2].is_constant != 0 && op.inputs[2].tensor.data != nullptr &&
      op.inputs[2].tensor.element_type == plugin::kF32 && plugin::is_static(op.inputs[2].tensor) &&
      plugin::num_elements(op.inputs[2].tensor) == n;
  return has_scales ? plugin::ok() : unimplemented("NarrowMatMul: not a constant scale per column");
}

Status check_operands(const sluice_op& op) {
  const sluice_operand& b = op.inputs[1];
  if (b.is_constant == 0 || b.tensor.rank != 2 || !plugin::is_static(b.tensor)) {
    return unimplemented("NarrowMatMul: B is not a constant matrix");
  }
  if (has_blocks(op)) {
    if (Status status = check_blocks(op, plugin::Attributes(op).get_int("transB") != 0);
        !status.is_ok())
      return status;
  } else if (has_bytes(op)) {
    if (Status status = check_bytes(op); !status.is_ok()) return status;
  } else if (!is_sixteen_bits(b.tensor)) {
    return unimplemented("NarrowMatMul: B is of neither 16, 8 nor 4 bits");
  }
  for (const sluice_operand* operand : {&op.inputs[0], &op.outputs[0]}) {
    if (operand->tensor.element_type != plugin::kF32 || operand->tensor.rank < 2 ||
        operand->tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) {
      return unimplemented("NarrowMatMul: A is not a row-major f32 matrix");
    }
  }
  return plugin::ok();
}

MatrixConstant constant_of(const sluice_op& op) {
  const sluice_tensor& b = op.inputs[1].tensor;
  const plugin::Attributes attributes(op);
  MatrixConstant constant;
  constant.k = b.dims[0];
  constant.n = b.dims[1];
  constant.step = constant.n;
  constant.column = 1;
  if (attributes.get_int("transB") != 0) {
    std::swap(constant.k, constant.n);
    std::swap(constant.step, constant.column);
  }
  if (has_bytes(op)) {
    constant.source = Storage::kI8;
    constant.type = WeightType::kInt8;
    constant.column_scales = static_cast<const float*>(op.inputs[2].tensor.data);
    return constant;
  }
  const bool is_f16 = b.element_type == plugin::kF16;
  constant.source = is_f16 ? Storage::kF16 : Storage::kBf16;
  constant.type = is_f16 ? WeightType::kF16 : WeightType::kBf16;
  if (attributes.get_text("sluice_weights", "") == "int8") constant.type = WeightType::kInt8;
  return constant;
}

Status check_narrow(const sluice_op& op) {
  if (op.num_inputs < 2) return plugin::invalid_argument("NarrowMatMul takes two inputs");
  if (Status status = check_operands(op); !status.is_ok()) return status;
  const auto a = dims_of(op.inputs[0].tensor);
  const std::int64_t k = constant_of(op).k;
  if (k == 0) return unimplemented("NarrowMatMul over nothing");
  // The last block of a row may have places that no row of A has.
  const std::int64_t spare = has_blocks(op) ? plugin::Attributes(op).get_int("block_size") - 1 : 0;
  if (a.back() >= 0 && (a.back() > k || a.back() < k - spare)) {
    return plugin::invalid_argument("NarrowMatMul: A and B do not multiply");
  }
  if (op.outputs[0].tensor.rank != op.inputs[0].tensor.rank) {
    return unimplemented("NarrowMatMul: a result of another rank");
  }
  if (op.body == nullptr) return plugin::ok();
  Chain chain;
  if (Status status = translate_body(op, &chain); !status.is_ok()) return status;
  return check_sources(op, chain, op.outputs[0].tensor);
}

sluice_packing narrow_packing(const sluice_op& op, int input, Isa isa) {
  if (input != 1 || has_blocks(op) || !is_packable(op.inputs[1])) return {};
  return describe_packing(constant_of(op), isa);
}

void pack_narrow(const sluice_op& op, int, Isa isa, void* packed) {
  pack_matrix(constant_of(op), op.inputs[1].tensor.data, isa, packed);
}

GemmB form_of(WeightType type) {
  return type == WeightType::kF16    ? GemmB::kPackedF16
         : type == WeightType::kBf16 ? GemmB::kPackedBf16
                                     : GemmB::kPacked;
}

Status read_narrow(const sluice_op& op, Isa isa, MatrixProduct* product) {
  const MatrixConstant constant = constant_of(op);
  const sluice_operand& b = op.inputs[1];
  // Without the values there is nothing to pack from, so the packed form must be the one wanted
  // here.
  if (!has_blocks(op) && b.tensor.data == nullptr &&
      b.packed_bytes != packed_bytes(constant, isa)) {
    return plugin::invalid_argument("NarrowMatMul: packed weights of " +
                                    std::to_string(b.packed_bytes) + " bytes, not " +
                                    std::to_string(packed_bytes(constant, isa)));
  }
  const auto a = dims_of(op.inputs[0].tensor);
  std::int64_t rows = 1;
  for (const std::int64_t dim : a.first(a.size() - 1)) rows *= dim;
  // B pads its rows to whole blocks, so A may have fewer columns.
  product->plan = GemmPlan::of(rows, constant.n, has_blocks(op) ? a.back() : constant.k);
  product->plan.blocks = gemm_blocks(op, isa);
  product->merged_dims = static_cast<int>(a.size()) - 2;
  if (has_blocks(op)) {
    product->plan.b_form = GemmB::kBlocks;
    product->plan.b_row = constant.k;
    product->blocks = read_block_form(op);
    product->plan.rounds_rows = product->blocks->rounds_rows;
  } else {
    product->plan.b_form = form_of(constant.type);
    product->constant_b = constant;
  }
  return op.body == nullptr ? plugin::ok() : translate_body(op, &product->chain);
}

Status make_narrow(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) {
  MatrixProduct product;
  if (Status status = read_narrow(op, isa, &product); !status.is_ok()) return status;
  *kernel = std::make_unique<MatrixKernel>(op, std::move(product), isa);
  return plugin::ok();
}

std::vector<std::string> list_narrow_tactics(const sluice_op& op, Isa isa, int workers) {
  MatrixProduct product;
  if (has_blocks(op) || !read_narrow(op, isa, &product).is_ok()) return {};
  const bool is_bytes = product.constant_b->type == WeightType::kInt8;
  return list_gemm_tactics(product.plan, is_bytes, workers);
}

}  // namespace

std::vector<OpEntry> narrow_matrix_entries() {
  return {{.domain = "sluice",
           .kind = "NarrowMatMul",
           .check = check_narrow,
           .make = make_narrow,
           .packing = narrow_packing,
           .pack = pack_narrow,
           .tactics = list_narrow_tactics,
           .num_required_inputs = 2},
          routed_matrix_entry()};
}

}  // namespace sluice::cpu
