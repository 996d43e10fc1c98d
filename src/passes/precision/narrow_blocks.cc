// Weights of 4 and 8 bits in blocks, as QDQ has them, stay in 4 and 8 bits.
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

/// A matrix of numbers of 4 or 8 bits, row by row; of two in a byte the lower comes first.
struct Numbers {
  int bits = 4;
  bool has_sign = false;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Bytes data;

  std::int64_t count() const { return rows * columns; }
  std::size_t size_bytes() const { return bytes_of(count()); }
  std::size_t bytes_of(std::int64_t numbers) const {
    return static_cast<std::size_t>((numbers * bits + 7) / 8);
  }
  /// Without sign: signed numbers grow by half of their range.
  int at(std::int64_t index) const {
    const int flip = has_sign ? 1 << (bits - 1) : 0;
    if (bits == 8) return std::to_integer<int>(data.data()[index]) ^ flip;
    return (std::to_integer<int>(data.data()[index / 2]) >> (index % 2 * 4) & 15) ^ flip;
  }
  ElementType element() const {
    if (bits == 8) return has_sign ? ElementType::kI8 : ElementType::kU8;
    return has_sign ? ElementType::kI4 : ElementType::kU4;
  }
};

/// `columns` columns of the matrix or of its transpose, zeros where it has fewer; without sign.
Numbers rearranged(const Numbers& from, bool is_transposed, std::int64_t columns) {
  Numbers to = {from.bits, false, is_transposed ? from.columns : from.rows, columns, {}};
  std::vector<std::byte> data(to.size_bytes());
  const std::int64_t given = is_transposed ? from.rows : from.columns;
  for (std::int64_t r = 0; r < to.rows; ++r) {
    for (std::int64_t c = 0; c < given; ++c) {
      const int number = from.at(is_transposed ? c * from.columns + r : r * from.columns + c);
      const std::int64_t at = r * columns + c;
      if (from.bits == 8) {
        data[static_cast<std::size_t>(at)] = static_cast<std::byte>(number);
      } else {
        data[static_cast<std::size_t>(at / 2)] |= static_cast<std::byte>(number << (at % 2 * 4));
      }
    }
  }
  to.data = Bytes::own(std::move(data));
  return to;
}

std::optional<Numbers> read_numbers(const ir::Constant& constant) {
  const ElementType element = constant.type.element();
  const auto dims = constant.type.static_dims();
  const bool is_byte = element == ElementType::kU8 || element == ElementType::kI8;
  const bool is_nibble = element == ElementType::kU4 || element == ElementType::kI4;
  if ((!is_byte && !is_nibble) || !dims || dims->size() != 2) return std::nullopt;
  const bool has_sign = element == ElementType::kI4 || element == ElementType::kI8;
  Numbers numbers = {is_byte ? 8 : 4, has_sign, (*dims)[0], (*dims)[1], constant.data};
  if (constant.data.size() != numbers.size_bytes()) return std::nullopt;
  return numbers;
}

/// Weights [n, k] and their blocks along k, as sluice::NarrowMatMul takes them with transB.
struct BlockWeights {
  std::int64_t block_size = 0;
  Numbers numbers;
  std::optional<Numbers> zeros;  ///< nullopt: zeros are 0, and the numbers may have signs
  ir::Constant scales;           ///< f32 [n, blocks]
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
    auto numbers = read_numbers(*constant);
    const auto scale_dims = scale->type.static_dims();
    if (!numbers || !scale_dims || scale_dims->size() != 2) return std::nullopt;
    BlockWeights weights;
    weights.block_size = size;
    const std::int64_t rows = (*scale_dims)[0], columns = (*scale_dims)[1];
    const std::int64_t along = is_flipped ? numbers->columns : numbers->rows;
    if ((is_flipped ? columns : rows) != (along + size - 1) / size) return std::nullopt;
    if (dequantize.input(2).is_valid()) {
      auto zeros = read_zeros(dequantize.input(2), *numbers, rows, columns);
      if (!zeros) return std::nullopt;
      weights.zeros = is_flipped ? std::move(zeros) : rearranged(*zeros, true, rows);
    }
    auto scales = read_scales(*scale, is_flipped);
    if (!scales) return std::nullopt;
    weights.scales = std::move(*scales);
    weights.numbers = whole_blocks(*numbers, weights, is_flipped);
    return weights;
  }

  /// Numbers [n, places] without sign if zero points have none. Those that already lie so stay
  /// where they are, so that a look-up of the same matrix shares them.
  static Numbers whole_blocks(const Numbers& numbers, BlockWeights& weights, bool is_flipped) {
    const std::int64_t k = is_flipped ? numbers.columns : numbers.rows;
    const std::int64_t places =
        (k + weights.block_size - 1) / weights.block_size * weights.block_size;
    const bool keeps_sign = numbers.has_sign && !weights.zeros;
    const bool stays = is_flipped && places == k && numbers.has_sign == keeps_sign;
    if (stays) return numbers;
    Numbers moved = rearranged(numbers, !is_flipped, places);
    if (keeps_sign)
      weights.zeros = Numbers{moved.bits, false, 1, 1, one_byte(1 << (moved.bits - 1))};
    return moved;
  }

  static Bytes one_byte(int value) { return Bytes::own({static_cast<std::byte>(value)}); }

  /// Zero points without sign; one for all if they are equal.
  std::optional<Numbers> read_zeros(ir::OperandId id, const Numbers& numbers, std::int64_t rows,
                                    std::int64_t columns) const {
    const auto constant = constant_of(id);
    auto zeros = constant ? read_numbers(*constant) : std::nullopt;
    const bool fits = zeros && zeros->rows == rows && zeros->columns == columns &&
                      zeros->bits == numbers.bits && zeros->has_sign == numbers.has_sign;
    if (!fits) return std::nullopt;
    if (zeros->has_sign) zeros = rearranged(*zeros, false, columns);
    return zeros;
  }

  static std::optional<ir::Constant> read_scales(const ir::Constant& scale, bool is_flipped) {
    const auto values = ir::float_values(scale);
    if (!values || !std::ranges::all_of(*values, is_scale)) return std::nullopt;
    if (is_flipped && scale.type.element() == ElementType::kF32) return scale;
    const auto dims = *scale.type.static_dims();
    const std::int64_t rows = dims[0], columns = dims[1];
    std::vector<float> scales(values->size());
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::int64_t to = is_flipped ? r * columns + c : c * rows + r;
        scales[static_cast<std::size_t>(to)] =
            static_cast<float>((*values)[static_cast<std::size_t>(r * columns + c)]);
      }
    }
    return ir::make_f32_constant(scales,
                                 is_flipped ? ir::Shape{rows, columns} : ir::Shape{columns, rows});
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

bool may_narrow(const ir::Operation& product) {
  return !product.body && (product.is("MatMul") || product.is("Gemm")) && is_plain_product(product);
}

ir::OperandId add_numbers(ir::Subgraph& subgraph, Numbers from) {
  ir::Type type = ir::Type::tensor(from.element(), ir::Shape{from.rows, from.columns});
  return subgraph.add_constant("", {std::move(type), std::move(from.data)});
}

/// Zero points, or [1] of them if they are equal.
ir::OperandId add_zeros(ir::Subgraph& subgraph, const Numbers& zeros) {
  bool are_equal = true;
  for (std::int64_t i = 1; i < zeros.count(); ++i) are_equal &= zeros.at(i) == zeros.at(0);
  if (!are_equal || zeros.count() == 0) return add_numbers(subgraph, zeros);
  ir::Type type = ir::Type::tensor(zeros.element(), ir::Shape{1});
  return subgraph.add_constant(
      "", {std::move(type), Bytes::own({static_cast<std::byte>(zeros.at(0))})});
}

ir::Operation narrow_product(ir::Subgraph& subgraph, const ir::Operation& source,
                             BlockWeights weights) {
  ir::Operation narrow;
  narrow.domain = "sluice";
  narrow.kind = "NarrowMatMul";
  narrow.name = source.name;
  narrow.inputs = {source.input(0), add_numbers(subgraph, std::move(weights.numbers)),
                   subgraph.add_constant("", std::move(weights.scales))};
  if (weights.zeros) narrow.inputs.push_back(add_zeros(subgraph, *weights.zeros));
  narrow.outputs = {source.output(0)};
  narrow.attributes.set("block_size", weights.block_size);
  narrow.attributes.set("transB", std::int64_t{1});
  return narrow;
}

int run(ir::Graph& graph, ir::SubgraphId id, const PassContext& context) {
  ir::Subgraph& subgraph = graph.subgraph(id);
  const std::vector<ir::OperationId> order(subgraph.order().begin(), subgraph.order().end());
  int num_narrowed = 0;
  // Rewrites change products alone, so the matcher stays true for what weights come from.
  const Matcher matcher(subgraph);
  const BlockReader reader(matcher, context);
  for (const ir::OperationId at : order) {
    if (!may_narrow(subgraph.operation(at))) continue;
    const ir::Operation source = subgraph.operation(at);
    const bool is_flipped = source.attributes.get_or("transB", std::int64_t{0}) != 0;
    auto weights = reader.read(source.input(1), is_flipped);
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
