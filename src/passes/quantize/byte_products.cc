#include "passes/quantize/byte_products.h"

#include <cstdint>
#include <string>

namespace sluice::passes {

std::optional<ir::Operation> make_byte_product(const ir::Graph& graph, ir::Subgraph& subgraph,
                                               const PassContext& context, ir::OperandId x,
                                               const ByteMatrix& matrix, ir::OperandId result) {
  const auto dims = subgraph.operand(matrix.bytes).type.static_dims();
  if (!dims || dims->size() != 2) return std::nullopt;
  const std::int64_t k = (*dims)[matrix.is_flipped ? 1 : 0];
  const std::int64_t n = (*dims)[matrix.is_flipped ? 0 : 1];
  const auto columns = static_cast<std::size_t>(n);
  if (k < 1 || (matrix.scales.size() != 1 && matrix.scales.size() != columns)) return std::nullopt;
  std::vector<float> scales;
  for (std::size_t j = 0; j < columns; ++j) {
    scales.push_back(static_cast<float>(matrix.scales[matrix.scales.size() == 1 ? 0 : j]));
  }
  const ir::Shape shape = matrix.is_flipped ? ir::Shape{n, 1} : ir::Shape{1, n};
  ir::Operation product;
  product.domain = "sluice";
  product.kind = "NarrowMatMul";
  product.inputs = {x, matrix.bytes,
                    subgraph.add_constant("", ir::make_f32_constant(scales, shape))};
  product.outputs = {result};
  // One block over all of K, since a column has one scale.
  product.attributes.set("block_size", k);
  product.attributes.set("transB", std::int64_t{matrix.is_flipped});
  product.attributes.set("sluice_weights", std::string("int8"));
  if (!context.is_accepted(graph, subgraph, product)) return std::nullopt;
  return product;
}

}  // namespace sluice::passes
