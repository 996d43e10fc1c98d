// MatMulNBits: products with weights of a few bits with a scale per block.
#include <algorithm>
#include <optional>

#include "ops/contrib/block_sizes.h"
#include "ops/lowering/lower_operations.h"

namespace sluice::ops {
namespace {

using ir::ElementType;
using ir::OperandId;

enum NBitsInput : std::size_t { kFactor, kNumbers, kScales, kZeros, kGroups, kAddend };

/// Numbers of 2 bits are kept in 4.
ElementType element_of(std::int64_t bits) {
  return bits == 8 ? ElementType::kU8 : ElementType::kU4;
}

struct BlockSizes {
  std::int64_t k = 0, n = 0, bits = 0, block = 0, blocks = 0;
  std::int64_t places() const { return blocks * block; }
};

Result<BlockSizes> block_sizes(const Lowering& op) {
  BlockSizes s = {op.int_of("K"), op.int_of("N"), op.int_of("bits", 4), op.int_of("block_size")};
  if (s.k < 1 || s.n < 1 || s.k > kMaxBlockSize || s.n > kMaxBlockSize) {
    return op.error("attributes K and N are {} and {}", s.k, s.n);
  }
  SLUICE_TRY(check_block(op, s.bits, s.block));
  if (op.int_of("weight_prepacked") != 0) {
    return unimplemented("attribute weight_prepacked: its layout is that of one CUDA kernel");
  }
  s.blocks = (s.k + s.block - 1) / s.block;
  return s;
}

int number_at(const Bytes& packed, std::int64_t bits, std::int64_t index) {
  const std::int64_t per_byte = 8 / bits;
  const auto byte = std::to_integer<int>(packed.data()[index / per_byte]);
  return byte >> (index % per_byte * bits) & ((1 << bits) - 1);
}

/// A matrix of numbers as NarrowMatMul takes them. Requires: `numbers` are in its range.
ir::Constant matrix_of(std::int64_t bits, std::int64_t rows, std::int64_t columns,
                       const std::vector<std::uint8_t>& numbers) {
  ir::Type type = ir::Type::tensor(element_of(bits), ir::Shape{rows, columns});
  if (bits == 8) {
    const auto bytes = std::as_bytes(std::span(numbers));
    return {std::move(type), Bytes::own({bytes.begin(), bytes.end()})};
  }
  std::vector<std::byte> data((numbers.size() + 1) / 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    data[i / 2] |= static_cast<std::byte>(numbers[i] << (i % 2 * 4));
  }
  return {std::move(type), Bytes::own(std::move(data))};
}

/// The constant input `index`: `rows` of `columns` numbers of `bits` bits, each row padded to
/// bytes.
Result<Bytes> packed_rows(const Lowering& op, std::size_t index, std::int64_t bits,
                          std::int64_t rows, std::int64_t columns) {
  const ir::Constant* packed = op.find_constant(index);
  if (packed == nullptr) return not_constant(std::to_string(index));
  const std::int64_t wanted = rows * ((columns * bits + 7) / 8);
  if (packed->data.size() != static_cast<std::size_t>(wanted)) {
    return op.error("input {} has {} bytes; {} rows of {} numbers of {} bits need {}", index,
                    packed->data.size(), rows, columns, bits, wanted);
  }
  return packed->data;
}

/// Where each place of a row comes from, if blocks are groups that `g_idx` has scattered: groups of
/// as many places as a block has. Nullopt for groups of other sizes.
std::optional<std::vector<std::int64_t>> places_of_groups(const BlockSizes& s,
                                                          const std::vector<std::int64_t>& groups) {
  std::vector<std::int64_t> filled(static_cast<std::size_t>(s.blocks));
  std::vector<std::int64_t> from(static_cast<std::size_t>(s.k));
  for (std::int64_t p = 0; p < s.k; ++p) {
    const std::int64_t group = groups[static_cast<std::size_t>(p)];
    const std::int64_t place = group * s.block + filled[static_cast<std::size_t>(group)]++;
    if (filled[static_cast<std::size_t>(group)] > s.block || place >= s.k) return std::nullopt;
    from[static_cast<std::size_t>(place)] = p;
  }
  return from;
}

/// One number for each of `k` places: the block whose scale it has.
Result<std::vector<std::int64_t>> read_groups(const Lowering& op, const BlockSizes& s) {
  const ir::Constant* constant = op.find_constant(kGroups);
  if (constant == nullptr) return not_constant("g_idx");
  auto groups = ir::integer_values(*constant);
  const std::size_t given = groups ? groups->size() : 0;
  if (given != static_cast<std::size_t>(s.k) && given != static_cast<std::size_t>(s.places())) {
    return op.error("input \"g_idx\" has {} numbers; K is {}", given, s.k);
  }
  groups->resize(static_cast<std::size_t>(s.k));
  for (const std::int64_t group : *groups) {
    if (group < 0 || group >= s.blocks) {
      return op.error("input \"g_idx\" has a {}; there are {} blocks", group, s.blocks);
    }
  }
  return std::move(*groups);
}

/// B [n, places] as it lies in the file, or with its places moved.
Result<OperandId> read_numbers(Lowering& op, const BlockSizes& s,
                               const std::vector<std::int64_t>* from) {
  ir::Type type = ir::Type::tensor(element_of(s.bits), ir::Shape{s.n, s.places()});
  if (!ir::storage_bytes(type)) return op.error("K and N are too large");
  if (!op.has_values()) return op.constant({std::move(type), Bytes()});
  const Bytes packed = SLUICE_TRY(packed_rows(op, kNumbers, s.bits, s.n, s.places()));
  if (from == nullptr && s.bits != 2) return op.constant({std::move(type), packed});
  std::vector<std::uint8_t> numbers(static_cast<std::size_t>(s.n * s.places()));
  for (std::int64_t j = 0; j < s.n; ++j) {
    for (std::int64_t p = 0; p < s.places(); ++p) {
      const std::int64_t place =
          from != nullptr && p < s.k ? (*from)[static_cast<std::size_t>(p)] : p;
      numbers[static_cast<std::size_t>(j * s.places() + p)] =
          static_cast<std::uint8_t>(number_at(packed, s.bits, j * s.places() + place));
    }
  }
  return op.constant(matrix_of(s.bits, s.n, s.places(), numbers));
}

/// As f32 [n, blocks].
Result<OperandId> read_floats(Lowering& op, std::size_t index, const BlockSizes& s) {
  const ir::Shape shape = {s.n, s.blocks};
  if (op.find_constant(index) == nullptr) {
    const OperandId wide = SLUICE_TRY(op.cast(op.input(index), ElementType::kF32));
    return op.emit("Reshape", {wide, op.ints({s.n, s.blocks})});
  }
  const auto values = ir::float_values(*op.find_constant(index));
  if (!values || values->size() != static_cast<std::size_t>(s.n * s.blocks)) {
    return op.error("input {} does not have {} numbers for each of {} rows", index, s.blocks, s.n);
  }
  std::vector<float> floats;
  for (const double value : *values) floats.push_back(static_cast<float>(value));
  return op.constant(ir::make_f32_constant(floats, shape));
}

/// One zero point for all blocks.
OperandId one_zero(Lowering& op, std::int64_t bits, std::uint8_t zero) {
  ir::Type type = ir::Type::tensor(element_of(bits), ir::Shape{1});
  return op.constant({std::move(type), Bytes::own({static_cast<std::byte>(zero)})});
}

/// Zero points [n, blocks], or [1] if they are equal; half of the range without the input.
Result<OperandId> read_zeros(Lowering& op, const BlockSizes& s) {
  if (!op.has(kZeros)) {
    return one_zero(op, s.bits, static_cast<std::uint8_t>(1 << (s.bits - 1)));
  }
  if (ir::is_floating_point(op.element(kZeros))) return read_floats(op, kZeros, s);
  if (op.element(kZeros) != ElementType::kU8) {
    return op.error("zero points are {}; they must be u8 or floats",
                    ir::element_type_name(op.element(kZeros)));
  }
  if (!op.has_values()) return one_zero(op, s.bits, 0);
  const Bytes packed = SLUICE_TRY(packed_rows(op, kZeros, s.bits, s.n, s.blocks));
  const std::int64_t per_byte = 8 / s.bits;
  const std::int64_t row = (s.blocks + per_byte - 1) / per_byte * per_byte;
  std::vector<std::uint8_t> zeros;
  for (std::int64_t j = 0; j < s.n; ++j) {
    for (std::int64_t i = 0; i < s.blocks; ++i) {
      zeros.push_back(static_cast<std::uint8_t>(number_at(packed, s.bits, j * row + i)));
    }
  }
  const bool are_equal = std::all_of(zeros.begin(), zeros.end(),
                                     [&](std::uint8_t zero) { return zero == zeros.front(); });
  if (are_equal) return one_zero(op, s.bits, zeros.front());
  return op.constant(matrix_of(s.bits, s.n, s.blocks, zeros));
}

/// Weights in groups of any sizes, as floats.
Result<OperandId> scattered_weights(Lowering& op, const BlockSizes& s,
                                    const std::vector<std::int64_t>& groups) {
  const OperandId all = SLUICE_TRY(read_numbers(op, s, nullptr));
  OperandId numbers = SLUICE_TRY(op.cast(all, ElementType::kF32));
  numbers = SLUICE_TRY(op.emit("Slice", {numbers, op.ints({0}), op.ints({s.k}), op.ints({1})}));
  const OperandId places = op.ints(groups);
  OperandId zeros = SLUICE_TRY(op.cast(SLUICE_TRY(read_zeros(op, s)), ElementType::kF32));
  if (op.has(kZeros)) {
    zeros = SLUICE_TRY(op.emit("Expand", {zeros, op.ints({s.n, s.blocks})}));
    zeros = SLUICE_TRY(op.emit("Gather", {zeros, places}, {{"axis", std::int64_t{1}}}));
  }
  const OperandId scales = SLUICE_TRY(op.emit(
      "Gather", {SLUICE_TRY(read_floats(op, kScales, s)), places}, {{"axis", std::int64_t{1}}}));
  const OperandId steps = SLUICE_TRY(op.emit("Sub", {numbers, zeros}));
  const OperandId weights = SLUICE_TRY(op.emit("Mul", {steps, scales}));
  return op.emit("Transpose", {weights}, {{"perm", std::vector<std::int64_t>{1, 0}}});
}

/// The product in f32.
Result<OperandId> block_product(Lowering& op, const BlockSizes& s, OperandId a) {
  std::optional<std::vector<std::int64_t>> from;
  if (op.has(kGroups) && op.has_values()) {
    const auto groups = SLUICE_TRY(read_groups(op, s));
    from = places_of_groups(s, groups);
    if (!from) return op.emit("MatMul", {a, SLUICE_TRY(scattered_weights(op, s, groups))});
    if (std::is_sorted(from->begin(), from->end())) from.reset();
  }
  if (from) a = SLUICE_TRY(op.emit("Gather", {a, op.ints(*from)}, {{"axis", std::int64_t{-1}}}));
  const OperandId numbers = SLUICE_TRY(read_numbers(op, s, from ? &*from : nullptr));
  const OperandId scales = SLUICE_TRY(read_floats(op, kScales, s));
  const OperandId zeros = SLUICE_TRY(read_zeros(op, s));
  Lowering::AttributeList attributes = {{"block_size", s.block}, {"transB", std::int64_t{1}}};
  constexpr std::int64_t kBytes = 4;
  if (op.int_of("accuracy_level") == kBytes) {
    attributes.emplace_back("sluice_weights", std::string("int8"));
  }
  return op.emit("NarrowMatMul", {a, numbers, scales, zeros}, attributes, "sluice");
}

/// A * B^T, where B holds blocks of `block_size` numbers of a few bits with a scale each.
Status lower_matmul_nbits(Lowering& op) {
  const BlockSizes s = SLUICE_TRY(block_sizes(op));
  const ElementType element = op.element(kFactor);
  OperandId a = op.input(kFactor);
  if (element != ElementType::kF32) a = SLUICE_TRY(op.cast(a, ElementType::kF32));
  OperandId y = SLUICE_TRY(block_product(op, s, a));
  if (element == ElementType::kF32) {
    return op.has(kAddend) ? op.finish("Add", {y, op.input(kAddend)}) : op.finish("Identity", {y});
  }
  if (!op.has(kAddend)) return op.finish_cast(y, element);
  const OperandId bias = SLUICE_TRY(op.cast(op.input(kAddend), ElementType::kF32));
  return op.finish_cast(SLUICE_TRY(op.emit("Add", {y, bias})), element);
}

}  // namespace

std::vector<LoweredOperator> lowered_block_weights() {
  const std::int64_t zero = 0;
  const OperandSpec a = {"A", kFloats, "T"}, scales = {"scales", kFloats, "T"};
  return {
      {"MatMulNBits",
       "product with weights of 2, 4 or 8 bits, scaled in blocks",
       {a,
        {"B", {ElementType::kU8}},
        scales,
        {"zero_points", kFloats | kInts, "", true},
        {"g_idx", kIndices, "", true},
        {"bias", kFloats, "T", true}},
       {"Y"},
       {{"K", zero, true},
        {"N", zero, true},
        {"bits", std::int64_t{4}},
        {"block_size", zero, true},
        {"accuracy_level", zero},
        {"weight_prepacked", zero}},
       lower_matmul_nbits},
  };
}

}  // namespace sluice::ops
