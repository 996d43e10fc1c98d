// Layer normalization in the forms that transformer exporters write.
#include "ops/lowering/lower_operations.h"

namespace sluice::ops {
namespace {

using ir::OperandId;

Lowering::AttributeList epsilon(const Lowering& op, float fallback) {
  return {{"axis", op.int_of("axis", -1)}, {"epsilon", op.float_of("epsilon", fallback)}};
}

Status lower_simplified(Lowering& op) {
  return op.finish("RMSNormalization", {op.input(0), op.input(1)}, epsilon(op, 1e-5F));
}

/// The sum of input, skip and bias, which is the fourth output if used.
Result<OperandId> skip_sum(Lowering& op, std::size_t bias) {
  const OperandId biased = SLUICE_TRY(op.plus(op.input(1), bias));
  if (!op.wants(3)) return op.emit("Add", {op.input(0), biased});
  SLUICE_TRY(op.finish("Add", {op.input(0), biased}, {}, {3}));
  return op.output(3);
}

/// input, skip, gamma, beta, bias
Status lower_skip(Lowering& op) {
  const OperandId sum = SLUICE_TRY(skip_sum(op, 4));
  return op.finish("LayerNormalization", {sum, op.input(2), op.input(3)}, epsilon(op, 1e-12F),
                   {0, 1, 2});
}

/// input, skip, gamma, bias
Status lower_skip_simplified(Lowering& op) {
  const OperandId sum = SLUICE_TRY(skip_sum(op, 3));
  return op.finish("RMSNormalization", {sum, op.input(2)}, epsilon(op, 1e-12F));
}

/// input_ids, segment_ids, words, positions, segments, gamma, beta, mask, position_ids
Status lower_embed(Lowering& op) {
  const auto ids = SLUICE_TRY(op.shape(0));
  if (ids.size() != 2) return op.error("input_ids must have rank 2");
  OperandId places = op.input(8);
  if (!op.has(8)) {
    const OperandId shape =
        SLUICE_TRY(op.emit("Shape", {op.input(0)}, {{"start", std::int64_t{1}}}));
    const OperandId length = SLUICE_TRY(op.emit("Squeeze", {shape}));
    const auto scalar = [&](std::int64_t v) { return op.constant(ir::make_i64_constant({v}, {})); };
    places = SLUICE_TRY(op.emit("Range", {scalar(0), length, scalar(1)}));
  }
  const OperandId words = SLUICE_TRY(op.emit("Gather", {op.input(2), op.input(0)}));
  const OperandId position = SLUICE_TRY(op.emit("Gather", {op.input(3), places}));
  OperandId sum = SLUICE_TRY(op.emit("Add", {words, position}));
  if (op.has(1) && op.has(4)) {
    sum = SLUICE_TRY(
        op.emit("Add", {sum, SLUICE_TRY(op.emit("Gather", {op.input(4), op.input(1)}))}));
  }
  if (op.wants(2)) SLUICE_TRY(op.finish("Identity", {sum}, {}, {2}));
  if (op.wants(1) && op.has(7)) {
    SLUICE_TRY(
        op.finish("ReduceSum", {op.input(7), op.ints({1})}, {{"keepdims", std::int64_t{0}}}, {1}));
  } else if (op.wants(1)) {
    const OperandId shape = SLUICE_TRY(op.emit("Shape", {op.input(0)}, {{"end", std::int64_t{1}}}));
    const ir::Constant none = {ir::Type::tensor(ir::ElementType::kI32, ir::Shape{1}),
                               Bytes::own(std::vector<std::byte>(4))};
    SLUICE_TRY(op.finish("ConstantOfShape", {shape}, {{"value", none}}, {1}));
  }
  return op.finish("LayerNormalization", {sum, op.input(5), op.input(6)}, epsilon(op, 1e-12F));
}

}  // namespace

std::vector<LoweredOperator> lowered_normalizations() {
  const OperandSpec x = {"input", kFloats, "T"}, skip = {"skip", kFloats, "T"};
  const OperandSpec gamma = {"gamma", kFloats}, beta = {"beta", kFloats, "", true};
  const OperandSpec bias = {"bias", kFloats, "T", true};
  const OperandSpec ids = {"ids", kIndices}, maybe_ids = {"ids", kIndices, "", true};
  const std::vector<AttributeSpec> own = {{"epsilon", 1e-5F}, {"axis", std::int64_t{-1}}};
  const std::vector<AttributeSpec> small = {{"epsilon", 1e-12F}};
  const OperandSpec table = {"embedding", kFloats}, maybe_table = {"embedding", kFloats, "", true};
  return {
      {"SimplifiedLayerNormalization",
       "RMSNormalization under its old name",
       {x, gamma},
       {"Y"},
       own,
       lower_simplified,
       ""},
      {"SkipLayerNormalization",
       "LayerNormalization of input + skip + bias",
       {x, skip, gamma, beta, bias},
       {"output", "mean", "inv_std_var", "sum"},
       small,
       lower_skip},
      {"SkipSimplifiedLayerNormalization",
       "RMSNormalization of input + skip + bias",
       {x, skip, gamma, bias},
       {"output", "mean", "inv_std_var", "sum"},
       small,
       lower_skip_simplified},
      {"EmbedLayerNormalization",
       "LayerNormalization of the sum of embeddings",
       {ids, maybe_ids, table, table, maybe_table, gamma, beta, maybe_ids, maybe_ids},
       {"output", "mask_index", "sum"},
       small,
       lower_embed},
  };
}

}  // namespace sluice::ops
