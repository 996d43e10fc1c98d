#include "plugin/libraries/matrix_product.h"

#include <algorithm>
#include <limits>

namespace sluice::cuda {
namespace {

using Dims = std::span<const std::int64_t>;

constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();

MatrixProduct read_gemm(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  const Dims a = plugin::dims_of(op.inputs[0].tensor);
  const Dims b = plugin::dims_of(op.inputs[1].tensor);
  MatrixProduct product;
  product.turns_a = attributes.get_int("transA") != 0;
  product.turns_b = attributes.get_int("transB") != 0;
  product.m = a[product.turns_a ? 1 : 0];
  product.k = a[product.turns_a ? 0 : 1];
  product.n = b[product.turns_b ? 0 : 1];
  return product;
}

std::optional<MatrixProduct> read_matmul(const sluice_op& op) {
  const Dims a = plugin::dims_of(op.inputs[0].tensor);
  const Dims b = plugin::dims_of(op.inputs[1].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  MatrixProduct product;
  product.m = a[a.size() - 2];
  product.k = a.back();
  product.n = b.back();
  product.batch = plugin::num_elements(y.first(y.size() - 2));
  const std::int64_t a_count = plugin::num_elements(a.first(a.size() - 2));
  const std::int64_t b_count = plugin::num_elements(b.first(b.size() - 2));
  const auto fits = [&](std::int64_t count) { return count == 1 || count == product.batch; };
  if (!fits(a_count) || !fits(b_count)) return std::nullopt;
  if (b_count == 1 && a_count == product.batch) {
    product.m *= product.batch;
    product.batch = 1;
  }
  if (product.batch > 1) {
    product.a_stride = a_count == 1 ? 0 : product.m * product.k;
    product.b_stride = b_count == 1 ? 0 : product.k * product.n;
  }
  return product;
}

}  // namespace

std::optional<MatrixProduct> read_product(const sluice_op& op) {
  const std::optional<MatrixProduct> product =
      std::string_view(op.kind) == "Gemm" ? read_gemm(op) : read_matmul(op);
  if (!product) return product;
  const auto [smallest, largest] =
      std::minmax({product->m, product->n, product->k, product->batch});
  if (smallest < 1 || largest > kLargest) return std::nullopt;
  return product;
}

}  // namespace sluice::cuda
