#include <limits>
#include <utility>

#include "ops/contrib/heads.h"
#include "passes/lower/operator_rewrites.h"

namespace sluice::passes {
namespace {

using ir::OperandId;

enum AttentionOperand : std::size_t { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kLengths };

/// Whether sluice::Attention can express what the attributes and optional operands ask for.
Status check_plain(const ops::Lowering& op, std::size_t rank) {
  const bool has_window =
      op.int_of("left_window_size", -1) >= 0 || op.int_of("right_window_size", -1) >= 0;
  if (op.has(kLengths) || op.wants(3) || has_window || op.float_of("softcap") != 0 ||
      op.has(kPastKey) != op.has(kPastValue)) {
    return unimplemented("an attention that is more than masked");
  }
  if (op.operation().attributes.contains("scale") && op.float_of("scale") == 0) {
    return unimplemented("a scale of 0 means another one in sluice::Attention");
  }
  for (const std::size_t i : {kQuery, kKey, kValue}) {
    if (SLUICE_TRY(op.rank(i)) != rank || op.element(i) != ir::ElementType::kF32) {
      return unimplemented("ranks or types differ");
    }
  }
  return ok_status();
}

/// The mask as numbers that are added. Its last axis must be as long as all keys.
Result<OperandId> added_mask(ops::Lowering& op, std::size_t rank) {
  if (!op.has(kMask)) return OperandId();
  const auto mask = SLUICE_TRY(op.shape(kMask));
  ir::Dim keys = SLUICE_TRY(op.shape(kKey))[rank - 2];
  if (op.has(kPastKey)) {
    const auto past = SLUICE_TRY(op.shape(kPastKey));
    if (past.size() != 4) return unimplemented("a past of another rank");
    keys = past[2] + keys;
  }
  if (mask.empty() || mask.size() > 4 || mask.back() != keys) {
    return unimplemented("a mask that is not as long as the keys");
  }
  if (op.element(kMask) == ir::ElementType::kF32) return op.input(kMask);
  if (op.element(kMask) != ir::ElementType::kBool) return unimplemented("a mask of another type");
  const OperandId hidden = SLUICE_TRY(op.number(-std::numeric_limits<float>::infinity()));
  return op.emit("Where", {op.input(kMask), SLUICE_TRY(op.number(0)), hidden});
}

}  // namespace

Status rewrite_attention(ops::Lowering& op) {
  const std::size_t rank = SLUICE_TRY(op.rank(kQuery));
  if (rank != 3 && rank != 4) return unimplemented("rank {}", rank);
  SLUICE_TRY(check_plain(op, rank));
  const OperandId mask = SLUICE_TRY(added_mask(op, rank));
  ops::Lowering::Inputs inputs = {op.input(kQuery), op.input(kKey), op.input(kValue)};
  if (rank == 3) {
    const std::int64_t heads = SLUICE_TRY(ops::count_heads(op, "q_num_heads"));
    const std::int64_t kv_heads = SLUICE_TRY(ops::count_heads(op, "kv_num_heads"));
    inputs[0] = SLUICE_TRY(ops::split_heads(op, inputs[0], heads));
    inputs[1] = SLUICE_TRY(ops::split_heads(op, inputs[1], kv_heads));
    inputs[2] = SLUICE_TRY(ops::split_heads(op, inputs[2], kv_heads));
  }
  inputs.insert(inputs.end(), {mask, op.input(kPastKey), op.input(kPastValue)});
  const std::size_t outputs = op.has(kPastKey) || op.wants(1) || op.wants(2) ? 3 : 1;
  const auto results = SLUICE_TRY(op.emit_many(
      "Attention", std::move(inputs), outputs,
      {{"scale", op.float_of("scale")}, {"is_causal", op.int_of("is_causal")}}, "sluice"));
  if (op.wants(1)) SLUICE_TRY(op.finish("Identity", {results[1]}, {}, {1}));
  if (op.wants(2)) SLUICE_TRY(op.finish("Identity", {results[2]}, {}, {2}));
  return rank == 3 ? ops::finish_heads(op, results[0]) : op.finish("Identity", {results[0]});
}

}  // namespace sluice::passes
