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

/// What the embedding layers look up, and their common inputs.
struct Embedding {
  OperandId words, positions, segments;  ///< rows; no segments are invalid
  OperandId gamma, beta;
  std::size_t mask = 7;  ///< its input
};

/// Places 0, 1, ... of the words, if the layer is given none.
Result<OperandId> default_places(Lowering& op) {
  const auto ids = SLUICE_TRY(op.shape(0));
  if (ids.size() != 2) return op.error("input_ids must have rank 2");
  return op.count_up(SLUICE_TRY(op.axis_length(op.input(0), 1)));
}

Status finish_embedding(Lowering& op, const Embedding& e) {
  OperandId sum = SLUICE_TRY(op.emit("Add", {e.words, e.positions}));
  if (e.segments.is_valid()) sum = SLUICE_TRY(op.emit("Add", {sum, e.segments}));
  if (op.wants(2)) SLUICE_TRY(op.finish("Identity", {sum}, {}, {2}));
  if (op.wants(1) && op.has(e.mask)) {
    SLUICE_TRY(op.finish("ReduceSum", {op.input(e.mask), op.ints({1})},
                         {{"keepdims", std::int64_t{0}}}, {1}));
  } else if (op.wants(1)) {
    const OperandId shape = SLUICE_TRY(op.axis_length(op.input(0), 0));
    const ir::Constant none = {ir::Type::tensor(ir::ElementType::kI32, ir::Shape{1}),
                               Bytes::own(std::vector<std::byte>(4))};
    SLUICE_TRY(op.finish("ConstantOfShape", {shape}, {{"value", none}}, {1}));
  }
  return op.finish("LayerNormalization", {sum, e.gamma, e.beta}, epsilon(op, 1e-12F));
}

/// input_ids, segment_ids, words, positions, segments, gamma, beta, mask, position_ids
Status lower_embed(Lowering& op) {
  const auto rows = [&](std::size_t table, OperandId ids) {
    return op.emit("Gather", {op.input(table), ids});
  };
  Embedding e;
  e.gamma = op.input(5);
  e.beta = op.input(6);
  const OperandId places = op.has(8) ? op.input(8) : SLUICE_TRY(default_places(op));
  e.words = SLUICE_TRY(rows(2, op.input(0)));
  e.positions = SLUICE_TRY(rows(3, places));
  if (op.has(1) && op.has(4)) e.segments = SLUICE_TRY(rows(4, op.input(1)));
  return finish_embedding(op, e);
}

/// As above without position_ids, each table quantized: five scales and five zero points follow.
Status lower_q_embed(Lowering& op) {
  constexpr std::size_t kFirst = 2, kScales = 8, kZeros = 13;
  const auto floats = [&](std::size_t table, OperandId rows) {
    const std::size_t at = table - kFirst;
    return op.emit("DequantizeLinear", {rows, op.input(kScales + at), op.input(kZeros + at)});
  };
  const auto rows = [&](std::size_t table, OperandId ids) -> Result<OperandId> {
    return floats(table, SLUICE_TRY(op.emit("Gather", {op.input(table), ids})));
  };
  Embedding e;
  e.words = SLUICE_TRY(rows(2, op.input(0)));
  e.positions = SLUICE_TRY(rows(3, SLUICE_TRY(default_places(op))));
  if (op.has(1) && op.has(4)) e.segments = SLUICE_TRY(rows(4, op.input(1)));
  e.gamma = SLUICE_TRY(floats(5, op.input(5)));
  e.beta = SLUICE_TRY(floats(6, op.input(6)));
  return finish_embedding(op, e);
}

}  // namespace

std::vector<LoweredOperator> lowered_normalizations() {
  const OperandSpec x = {"input", kFloats, "T"}, skip = {"skip", kFloats, "T"};
  const OperandSpec gamma = {"gamma", kFloats}, beta = {"beta", kFloats, "", true};
  const OperandSpec bias = {"bias", kFloats, "T", true};
  const OperandSpec ids = {"ids", kIndices}, maybe_ids = {"ids", kIndices, "", true};
  const std::vector<AttributeSpec> own = {{"epsilon", 1e-5F}, {"axis", std::int64_t{-1}}};
  const std::vector<AttributeSpec> small = {{"epsilon", 1e-12F}};
  const OperandSpec bytes = {"bytes", kInts}, maybe_bytes = {"bytes", kInts, "", true};
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
      {"QEmbedLayerNormalization",
       "LayerNormalization of the sum of quantized embeddings",
       {ids, maybe_ids, bytes, bytes, maybe_bytes, bytes, bytes, maybe_ids, gamma, gamma, beta,
        gamma, gamma, bytes, bytes, maybe_bytes, bytes, bytes},
       {"output", "mask_index"},
       small,
       lower_q_embed},
  };
}

}  // namespace sluice::ops
