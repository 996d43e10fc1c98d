// GatherBlockQuantized: rows of weights of a few bits with a scale per block.
#include <utility>

#include "ops/contrib/block_sizes.h"
#include "ops/lowering/lower_operations.h"

namespace sluice::ops {
namespace {

using ir::ElementType;
using ir::OperandId;

/// A gather of rows of some tensors at indices that may lie outside.
class RowGather {
 public:
  static Result<RowGather> create(Lowering& op) {
    RowGather gather(op);
    gather.rank_ = SLUICE_TRY(op.rank(0));
    const auto rank = static_cast<std::int64_t>(gather.rank_);
    gather.axis_ = op.int_of("gather_axis");
    if (gather.axis_ < -rank || gather.axis_ >= rank) {
      return op.error("attribute gather_axis is {}; the data have {} axes", gather.axis_, rank);
    }
    if (gather.axis_ < 0) gather.axis_ += rank;
    gather.index_rank_ = SLUICE_TRY(op.rank(1));
    const auto size = SLUICE_TRY(op.dim(0, static_cast<std::size_t>(gather.axis_)));
    SLUICE_TRY(gather.bound(size));
    return gather;
  }

  std::int64_t axis() const { return axis_; }
  std::size_t result_rank() const { return rank_ + index_rank_ - 1; }
  /// Where axis `of` of the data is in the result.
  std::int64_t moved(std::int64_t of) const {
    return of < axis_ ? of : of + static_cast<std::int64_t>(index_rank_) - 1;
  }

  Result<OperandId> rows(OperandId from) const {
    return op_->emit("Gather", {from, safe_}, {{"axis", axis_}});
  }

  /// Zeros where an index is outside.
  Status finish(OperandId result) const {
    const std::size_t behind = rank_ - 1 - static_cast<std::size_t>(axis_);
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < behind; ++i) {
      axes.push_back(static_cast<std::int64_t>(index_rank_ + i));
    }
    OperandId mask = is_inside_;
    if (behind > 0) mask = SLUICE_TRY(op_->emit("Unsqueeze", {mask, op_->ints(axes)}));
    return op_->finish("Where", {mask, result, SLUICE_TRY(op_->number(0, 2))});
  }

 private:
  explicit RowGather(Lowering& op) : op_(&op) {}

  Status bound(std::int64_t size) {
    const OperandId indices = SLUICE_TRY(op_->cast(op_->input(1), ElementType::kI64));
    const OperandId low = SLUICE_TRY(op_->emit("GreaterOrEqual", {indices, op_->integer(-size)}));
    const OperandId high = SLUICE_TRY(op_->emit("Less", {indices, op_->integer(size)}));
    is_inside_ = SLUICE_TRY(op_->emit("And", {low, high}));
    safe_ = SLUICE_TRY(op_->emit("Where", {is_inside_, indices, op_->integer(0)}));
    return ok_status();
  }

  Lowering* op_;
  std::int64_t axis_ = 0;
  std::size_t rank_ = 0, index_rank_ = 0;
  OperandId safe_, is_inside_;
};

/// Numbers of 2 or 4 bits, packed along the last axis of a tensor of u8, as u8.
Result<OperandId> unpacked(Lowering& op, OperandId packed, std::size_t rank, std::int64_t bits,
                           std::int64_t bytes) {
  if (bits == 8) return packed;
  const auto number = [&](std::int64_t value) {
    return op.constant({ir::Type::tensor(ElementType::kU8, ir::Shape{}),
                        Bytes::own({static_cast<std::byte>(value)})});
  };
  Lowering::Inputs parts;
  for (std::int64_t shift = 0; shift < 8; shift += bits) {
    OperandId part = packed;
    if (shift > 0) {
      part = SLUICE_TRY(
          op.emit("BitShift", {part, number(shift)}, {{"direction", std::string("RIGHT")}}));
    }
    if (shift + bits < 8) {
      part = SLUICE_TRY(op.emit("BitwiseAnd", {part, number((1 << bits) - 1)}));
    }
    parts.push_back(SLUICE_TRY(op.emit("Unsqueeze", {part, op.ints({-1})})));
  }
  const OperandId all =
      SLUICE_TRY(op.emit("Concat", std::move(parts), {{"axis", std::int64_t{-1}}}));
  std::vector<std::int64_t> shape(rank, 0);
  shape.back() = bytes * (8 / bits);
  return op.emit("Reshape", {all, op.ints(shape)});
}

struct GatherSizes {
  std::int64_t bits = 0, block = 0, axis = 0;
  bool is_packed = false;  ///< u8
  bool is_float = false;   ///< f8 or f4
};

Result<GatherSizes> gather_sizes(const Lowering& op) {
  GatherSizes s;
  const ElementType element = op.element(0);
  s.is_packed = element == ElementType::kU8;
  s.is_float = ir::is_floating_point(element);
  s.bits = s.is_packed ? op.int_of("bits", 4) : 4;
  s.block = op.int_of("block_size", 128);
  if (!s.is_float || s.block != 0) SLUICE_TRY(check_block(op, s.bits, s.block));
  const auto rank = static_cast<std::int64_t>(SLUICE_TRY(op.rank(0)));
  s.axis = op.int_of("quantize_axis", 1);
  if (s.axis < -rank || s.axis >= rank) {
    return op.error("attribute quantize_axis is {}; the data have {} axes", s.axis, rank);
  }
  if (s.axis < 0) s.axis += rank;
  return s;
}

/// Rows of scales or zero points. A single row serves every index.
Result<OperandId> block_rows(Lowering& op, const RowGather& gather, std::size_t input) {
  const auto dims = SLUICE_TRY(op.shape(input));
  const auto axis = static_cast<std::size_t>(gather.axis());
  if (axis >= dims.size()) return op.error("input {} has {} axes", input, dims.size());
  const auto data = SLUICE_TRY(op.shape(0));
  if (!dims[axis].is(1) || data[axis].is(1)) return gather.rows(op.input(input));
  std::vector<std::int64_t> axes;
  for (std::size_t i = dims.size(); i < gather.result_rank(); ++i) {
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  if (axes.empty()) return op.input(input);
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] += static_cast<std::int64_t>(i);
  return op.emit("Unsqueeze", {op.input(input), op.ints(axes)});
}

/// Zero points of the rows, of the type of the numbers; invalid for none.
Result<OperandId> zero_rows(Lowering& op, const RowGather& gather, const GatherSizes& s) {
  if (!s.is_packed) return op.has(3) ? gather.rows(op.input(3)) : OperandId();
  if (!op.has(3)) {
    const OperandId scales = SLUICE_TRY(block_rows(op, gather, 2));
    const OperandId shape = SLUICE_TRY(op.emit("Shape", {scales}));
    ir::Type type = ir::Type::tensor(ElementType::kU8, ir::Shape{});
    const auto half = static_cast<std::byte>(1 << (s.bits - 1));
    return op.emit("Expand", {op.constant({std::move(type), Bytes::own({half})}), shape});
  }
  const std::size_t last = SLUICE_TRY(op.rank(0)) - 1;
  const std::int64_t bytes = SLUICE_TRY(op.dim(3, last));
  const OperandId all = SLUICE_TRY(
      unpacked(op, SLUICE_TRY(gather.rows(op.input(3))), gather.result_rank(), s.bits, bytes));
  if (s.bits == 8) return all;
  return op.emit("Slice",
                 {all, op.ints({0}), op.ints({SLUICE_TRY(op.dim(2, last))}), op.ints({-1})});
}

/// Gather of rows, which are then dequantized.
Status lower_gather_block_quantized(Lowering& op) {
  const GatherSizes s = SLUICE_TRY(gather_sizes(op));
  const RowGather gather = SLUICE_TRY(RowGather::create(op));
  if (s.is_packed && gather.axis() != 0) return op.error("gather_axis of u8 data must be 0");
  if (s.is_float && op.has(3)) return op.error("zero points are for integers");
  if (gather.axis() == s.axis) {
    if (s.is_packed || s.block == 0) return op.error("gather_axis equals quantize_axis");
    const OperandId all =
        SLUICE_TRY(op.emit("DequantizeLinear", {op.input(0), op.input(2), op.input(3)},
                           {{"axis", s.axis}, {"block_size", s.block}}));
    return gather.finish(SLUICE_TRY(gather.rows(all)));
  }
  OperandId rows = SLUICE_TRY(gather.rows(op.input(0)));
  const OperandId scales = SLUICE_TRY(block_rows(op, gather, 2));
  if (s.is_float && s.block == 0) {
    rows = SLUICE_TRY(op.cast(rows, op.element(2)));
    return gather.finish(SLUICE_TRY(op.emit("Mul", {rows, scales})));
  }
  if (s.is_packed) {
    const std::size_t last = SLUICE_TRY(op.rank(0)) - 1;
    rows =
        SLUICE_TRY(unpacked(op, rows, gather.result_rank(), s.bits, SLUICE_TRY(op.dim(0, last))));
  }
  const OperandId zeros = SLUICE_TRY(zero_rows(op, gather, s));
  const OperandId y =
      SLUICE_TRY(op.emit("DequantizeLinear", {rows, scales, zeros},
                         {{"axis", gather.moved(s.axis)}, {"block_size", s.block}}));
  return gather.finish(y);
}

}  // namespace

std::vector<LoweredOperator> lowered_block_gathers() {
  const TypeSet numbers = {ElementType::kU8, ElementType::kU4, ElementType::kI4,
                           ElementType::kF4E2M1};
  return {
      {"GatherBlockQuantized",
       "Gather of weights of 2, 4 or 8 bits, scaled in blocks",
       {{"data", numbers | kEightBitFloats, "T"},
        {"indices", kIndices},
        {"scales", kFloats, "S"},
        {"zero_points", numbers, "T", true}},
       {"output"},
       {{"bits", std::int64_t{4}},
        {"block_size", std::int64_t{128}},
        {"quantize_axis", std::int64_t{1}},
        {"gather_axis", std::int64_t{0}}},
       lower_gather_block_quantized},
  };
}

}  // namespace sluice::ops
