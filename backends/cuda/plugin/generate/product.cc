// Gemm and MatMul as products of tiles.

#include <algorithm>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"
#include "plugin/generate/tiles/tile_kernel.h"

namespace sluice::cuda {
namespace {

constexpr const char* kKinds[] = {"Gemm", "MatMul", nullptr};

bool is_gemm(const sluice_op& op) { return std::string_view(op.kind) == "Gemm"; }

/// A factor with rows and columns of given strides, one of which is 1; k goes along its columns, or
/// for b along its rows.
Factor factor_of(int operand, std::int64_t extent, std::int64_t stride, std::int64_t k_stride) {
  Factor factor;
  factor.operand = operand;
  factor.extent = extent;
  factor.is_along_k = k_stride == 1;
  factor.stride = factor.is_along_k ? stride : k_stride;
  return factor;
}

Product gemm_of(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  const Dims a = plugin::dims_of(op.inputs[0].tensor);
  const Dims b = plugin::dims_of(op.inputs[1].tensor);
  const bool turns_a = attributes.get_int("transA") != 0;
  const bool turns_b = attributes.get_int("transB") != 0;
  Product product;
  product.m = a[turns_a ? 1 : 0];
  product.k = a[turns_a ? 0 : 1];
  product.n = b[turns_b ? 0 : 1];
  product.a = factor_of(0, product.m, turns_a ? 1 : a[1], turns_a ? a[1] : 1);
  product.b = factor_of(1, product.n, turns_b ? b[1] : 1, turns_b ? 1 : b[1]);
  return product;
}

/// A vector is a row on the left and a column on the right.
Product matmul_of(const sluice_op& op) {
  const Dims a = plugin::dims_of(op.inputs[0].tensor);
  const Dims b = plugin::dims_of(op.inputs[1].tensor);
  Product product;
  product.k = a.back();
  if (a.size() > 1) product.m = a[a.size() - 2];
  if (b.size() > 1) product.n = b.back();
  product.a = factor_of(0, product.m, product.k, 1);
  product.b = factor_of(1, product.n, 1, product.n);
  if (a.size() > 1) product.a.batch.assign(a.begin(), a.end() - 2);
  if (b.size() > 1) product.b.batch.assign(b.begin(), b.end() - 2);
  product.a.matrix = product.m * product.k;
  product.b.matrix = product.k * product.n;
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  const std::size_t num_matrix = (a.size() > 1 ? 1U : 0U) + (b.size() > 1 ? 1U : 0U);
  product.batch.assign(y.begin(), y.end() - static_cast<std::ptrdiff_t>(num_matrix));
  return product;
}

bool shapes_fit_gemm(const sluice_op& op) {
  const Dims a = plugin::dims_of(op.inputs[0].tensor);
  const Dims b = plugin::dims_of(op.inputs[1].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  if (a.size() != 2 || b.size() != 2 || y.size() != 2) return false;
  const Product product = gemm_of(op);
  const bool turns_b = plugin::Attributes(op).get_int("transB") != 0;
  const bool has_c = op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor);
  return agree(product.k, b[turns_b ? 1 : 0]) && agree(product.m, y[0]) && agree(product.n, y[1]) &&
         (!has_c || broadcasts_to(plugin::dims_of(op.inputs[2].tensor), y));
}

bool shapes_fit_matmul(const sluice_op& op) {
  const Dims a = plugin::dims_of(op.inputs[0].tensor);
  const Dims b = plugin::dims_of(op.inputs[1].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  const std::size_t num_rows = a.size() > 1 ? 1 : 0;
  const std::size_t num_columns = b.size() > 1 ? 1 : 0;
  if (a.empty() || b.empty() || y.size() < num_rows + num_columns) return false;
  const Product product = matmul_of(op);
  const Dims matrix = y.last(num_rows + num_columns);
  return agree(product.k, num_columns == 1 ? b[b.size() - 2] : b[0]) &&
         (num_rows == 0 || agree(product.m, matrix.front())) &&
         (num_columns == 0 || agree(product.n, matrix.back())) &&
         broadcasts_to(product.a.batch, product.batch) &&
         broadcasts_to(product.b.batch, product.batch);
}

Status check(const sluice_op& op) {
  if (Status status = check_floats(op, op.num_inputs); !status.is_ok()) return status;
  if (op.num_inputs < 2) return shapes_disagree(op);
  const bool fits = is_gemm(op) ? shapes_fit_gemm(op) : shapes_fit_matmul(op);
  return fits ? plugin::ok() : shapes_disagree(op);
}

/// Gemm's factors and third input.
Finish finish_of(const sluice_op& op) {
  Finish finish;
  if (!is_gemm(op)) return finish;
  const plugin::Attributes attributes(op);
  const float alpha = attributes.get_float("alpha", 1);
  const float beta = attributes.get_float("beta", 1);
  if (alpha != 1) finish.value = literal(alpha) + " * sum";
  if (op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor)) {
    finish.added = 2;
    finish.value += " + " + (beta == 1 ? "" : literal(beta) + " * ") + "added";
  }
  return finish;
}

Status write(const sluice_op& op, Source* source) {
  Product product = is_gemm(op) ? gemm_of(op) : matmul_of(op);
  if (product.k > INT32_MAX / 2) return too_large(op);
  const int bytes = static_cast<int>(plugin::element_bits(op.outputs[0].tensor.element_type) / 8);
  for (Factor* const factor : {&product.a, &product.b}) {
    const std::int64_t neighbours = factor->is_along_k ? product.k : factor->extent;
    // A single line has no next one.
    factor->vector = vector_of(neighbours, factor->extent == 1 ? 0 : factor->stride, bytes);
  }
  product.unbroken = product.n;
  simplify(&product);
  return write_product(op, product, finish_of(op), source);
}

}  // namespace

const Family kProductFamily = {kKinds, check, write, product_tactics};

}  // namespace sluice::cuda
