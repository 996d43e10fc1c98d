// Weights of 4 bits in blocks, as MatMulNBits and QDQ have them, stay in 4 bits.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "passes/match.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

using ir::ElementType;

constexpr std::byte kSignBits{0x88};  // of both numbers of a byte

std::size_t nibble_bytes(std::int64_t count) { return static_cast<std::size_t>((count + 1) / 2); }

/// A matrix of 4-bit numbers without sign, row by row, the lower half of a byte first.
struct Nibbles {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Bytes data;

  int at(std::int64_t index) const {
    const auto byte = std::to_integer<int>(data.data()[index / 2]);
    return byte >> (index % 2 * 4) & 15;
  }
};

Nibbles transposed(const Nibbles& from) {
  std::vector<std::byte> data(nibble_bytes(from.rows * from.columns));
  for (std::int64_t c = 0; c < from.columns; ++c) {
    for (std::int64_t r = 0; r < from.rows; ++r) {
      const std::int64_t to = c * from.rows + r;
      const int shifted = from.at(r * from.columns + c) << (to % 2 * 4);
      data[static_cast<std::size_t>(to / 2)] |= static_cast<std::byte>(shifted);
    }
  }
  return {from.columns, from.rows, Bytes::own(std::move(data))};
}

Bytes with_flipped_signs(const Bytes& from) {
  std::vector<std::byte> data(from.data(), from.data() + from.size());
  for (std::byte& byte : data) byte ^= kSignBits;
  return Bytes::own(std::move(data));
}

/// Numbers with a sign become larger by 8, as do their zero points.
std::optional<Nibbles> read_nibbles(const ir::Constant& constant) {
  const ElementType element = constant.type.element();
  const auto dims = constant.type.static_dims();
  if ((element != ElementType::kU4 && element != ElementType::kI4) || !dims || dims->size() != 2) {
    return std::nullopt;
  }
  const std::int64_t rows = (*dims)[0], columns = (*dims)[1];
  if (constant.data.size() != nibble_bytes(rows * columns)) return std::nullopt;
  if (element == ElementType::kU4) return Nibbles{rows, columns, constant.data};
  return Nibbles{rows, columns, with_flipped_signs(constant.data)};
}

/// Weights [n, k] and their blocks along k, as sluice::NarrowMatMul takes them with transB.
struct BlockWeights {
  std::int64_t block_size = 0;
  Nibbles numbers, zeros;
  std::vector<float> scales;

  /// Whether all zero points are 8: then the numbers may have signs instead.
  bool is_symmetric() const {
    for (std::int64_t i = 0; i < zeros.rows * zeros.columns; ++i) {
      if (zeros.at(i) != 8) return false;
    }
    return true;
  }
};

/// Whether s * sum(x q) is sum(x (s q)), but for rounding.
bool is_scale(double scale) { return scale == 0 || is_moderate(scale); }

class BlockReader {
 public:
  BlockReader(const Matcher& matcher, const PassContext& context)
      : matcher_(matcher), context_(context) {}

  /// The weights that the matrix [k, n], or with `is_flipped` [n, k], is dequantized from.
  std::optional<BlockWeights> read(ir::OperandId matrix, bool is_flipped) const {
    if (type_of(matrix).element() != ElementType::kF32) return std::nullopt;
    if (const ir::Operation* cast = matcher_.find(matrix, "Cast")) matrix = cast->input(0);
    if (!ir::is_floating_point(type_of(matrix).element())) return std::nullopt;
    if (const ir::Operation* turn = matcher_.find(matrix, "Transpose")) {
      matrix = turn->input(0);
      is_flipped = !is_flipped;  // a matrix has no other transpose, or one that moves nothing
      if (turn->attributes.get_or("perm", std::vector<std::int64_t>{1, 0}).front() != 1) {
        return std::nullopt;
      }
    }
    const ir::Operation* dequantize = matcher_.find(matrix, "DequantizeLinear");
    if (dequantize == nullptr) return std::nullopt;
    const std::int64_t size = dequantize->attributes.get_or("block_size", std::int64_t{0});
    std::int64_t axis = dequantize->attributes.get_or("axis", std::int64_t{1});
    if (axis < 0) axis += 2;
    if (size < 1 || axis != (is_flipped ? 1 : 0)) return std::nullopt;
    return read_blocks(*dequantize, size, is_flipped);
  }

 private:
  const ir::Type& type_of(ir::OperandId id) const { return matcher_.subgraph().operand(id).type; }

  std::optional<BlockWeights> read_blocks(const ir::Operation& dequantize, std::int64_t size,
                                          bool is_flipped) const {
    const auto constant = constant_of(dequantize.input(0));
    const auto scale = constant_of(dequantize.input(1));
    if (!constant || !scale) return std::nullopt;
    auto numbers = read_nibbles(*constant);
    const auto scales = ir::float_values(*scale);
    const auto scale_dims = scale->type.static_dims();
    if (!numbers || !scales || !scale_dims || scale_dims->size() != 2) return std::nullopt;
    const std::int64_t rows = (*scale_dims)[0], columns = (*scale_dims)[1];
    const std::int64_t along = is_flipped ? numbers->columns : numbers->rows;
    const std::int64_t blocks = is_flipped ? columns : rows;
    if (blocks != (along + size - 1) / size || !std::ranges::all_of(*scales, is_scale)) {
      return std::nullopt;
    }
    auto zeros = read_zeros(dequantize, constant->type.element(), rows, columns);
    if (!zeros) return std::nullopt;
    BlockWeights weights;
    weights.block_size = size;
    weights.numbers = is_flipped ? std::move(*numbers) : transposed(*numbers);
    weights.zeros = is_flipped ? std::move(*zeros) : transposed(*zeros);
    weights.scales.resize(scales->size());
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::int64_t to = is_flipped ? r * columns + c : c * rows + r;
        weights.scales[static_cast<std::size_t>(to)] =
            static_cast<float>((*scales)[static_cast<std::size_t>(r * columns + c)]);
      }
    }
    return weights;
  }

  std::optional<Nibbles> read_zeros(const ir::Operation& dequantize, ElementType element,
                                    std::int64_t rows, std::int64_t columns) const {
    if (!dequantize.input(2).is_valid()) {
      const std::byte zero = element == ElementType::kI4 ? kSignBits : std::byte{0};
      return Nibbles{rows, columns,
                     Bytes::own(std::vector<std::byte>(nibble_bytes(rows * columns), zero))};
    }
    const auto constant = constant_of(dequantize.input(2));
    auto zeros = constant ? read_nibbles(*constant) : std::nullopt;
    const bool fits = zeros && zeros->rows == rows && zeros->columns == columns;
    return fits ? std::move(zeros) : std::nullopt;
  }

  /// A constant, or the result of an operation on constants alone.
  std::optional<ir::Constant> constant_of(ir::OperandId id) const {
    const ir::Subgraph& subgraph = matcher_.subgraph();
    if (const ir::Constant* constant = subgraph.find_constant(id)) return *constant;
    const ir::OperationId at = matcher_.uses().producer(id);
    if (!at.is_valid() || !context_.evaluate) return std::nullopt;
    const ir::Operation& operation = subgraph.operation(at);
    for (const ir::OperandId input : operation.inputs) {
      if (input.is_valid() && !subgraph.is_constant(input)) return std::nullopt;
    }
    auto values = context_.evaluate(subgraph, operation);
    if (!values.is_ok() || values->size() != 1) return std::nullopt;
    return std::move(values->front());
  }

  const Matcher& matcher_;
  const PassContext& context_;
};

bool is_plain_product(const ir::Operation& product) {
  if (product.body || !product.domain.empty()) return false;
  if (product.kind == "MatMul") return true;
  return product.kind == "Gemm" && product.attributes.get_or("alpha", 1.0F) == 1.0F &&
         product.attributes.get_or("beta", 1.0F) == 1.0F &&
         product.attributes.get_or("transA", std::int64_t{0}) == 0;
}

ir::OperandId add_nibbles(ir::Subgraph& subgraph, ElementType element, Nibbles from) {
  ir::Type type = ir::Type::tensor(element, ir::Shape{from.rows, from.columns});
  return subgraph.add_constant("", {std::move(type), std::move(from.data)});
}

ir::Operation narrow_product(ir::Subgraph& subgraph, const ir::Operation& source,
                             BlockWeights weights) {
  const ir::Shape blocks = {weights.zeros.rows, weights.zeros.columns};
  const bool is_symmetric = weights.is_symmetric();
  Nibbles numbers = std::move(weights.numbers);
  if (is_symmetric) numbers.data = with_flipped_signs(numbers.data);
  ir::Operation narrow;
  narrow.domain = "sluice";
  narrow.kind = "NarrowMatMul";
  narrow.name = source.name;
  narrow.inputs = {
      source.input(0),
      add_nibbles(subgraph, is_symmetric ? ElementType::kI4 : ElementType::kU4, std::move(numbers)),
      subgraph.add_constant("", ir::make_f32_constant(weights.scales, blocks))};
  if (!is_symmetric) {
    narrow.inputs.push_back(add_nibbles(subgraph, ElementType::kU4, std::move(weights.zeros)));
  }
  narrow.outputs = {source.output(0)};
  narrow.attributes.set("block_size", weights.block_size);
  narrow.attributes.set("transB", std::int64_t{1});
  return narrow;
}

int run(ir::Graph& graph, ir::SubgraphId id, const PassContext& context) {
  ir::Subgraph& subgraph = graph.subgraph(id);
  const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
  int num_narrowed = 0;
  for (const ir::OperationId at : order) {
    if (!is_plain_product(subgraph.operation(at))) continue;
    const ir::Operation source = subgraph.operation(at);
    const bool is_flipped = source.attributes.get_or("transB", std::int64_t{0}) != 0;
    auto weights = BlockReader(Matcher(subgraph), context).read(source.input(1), is_flipped);
    if (!weights) continue;
    ir::Operation narrow = narrow_product(subgraph, source, std::move(*weights));
    if (!context.is_accepted(graph, subgraph, narrow)) continue;
    if (source.input(2).is_valid()) {
      const ir::OperandId sum = source.output(0);
      narrow.outputs = {add_operand(subgraph, subgraph.operand(sum).type)};
      ir::Operation add = make_operation(subgraph, "Add", {narrow.output(0), source.input(2)}, sum);
      subgraph.insert_operation(at, std::move(narrow));
      subgraph.operation(at) = std::move(add);
    } else {
      subgraph.operation(at) = std::move(narrow);
    }
    ++num_narrowed;
  }
  if (num_narrowed > 0) sweep(subgraph);
  return num_narrowed;
}

}  // namespace

Result<int> narrow_blocks(ir::Graph& graph, const PassContext& context) {
  return rewrite_subgraphs(
      graph, [&](ir::SubgraphId id) -> Result<int> { return run(graph, id, context); });
}

}  // namespace sluice::passes
