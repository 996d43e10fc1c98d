#include "ops/contrib/heads.h"

namespace sluice::ops {
namespace {

using ir::OperandId;
using Ints = std::vector<std::int64_t>;

}  // namespace

Result<std::int64_t> count_heads(const Lowering& op, std::string_view name) {
  constexpr std::int64_t kMax = 1 << 16;
  const std::int64_t heads = op.int_of(name);
  if (heads >= 1 && heads <= kMax) return heads;
  return op.error("attribute \"{}\" is {}", name, heads);
}

Result<OperandId> split_heads(Lowering& op, OperandId x, std::int64_t heads) {
  // A 0 keeps the dimension, -1 takes what is left.
  const OperandId parts = SLUICE_TRY(op.emit("Reshape", {x, op.ints({0, 0, heads, -1})}));
  return op.emit("Transpose", {parts}, {{"perm", Ints{0, 2, 1, 3}}});
}

Status finish_heads(Lowering& op, OperandId y) {
  const OperandId rows = SLUICE_TRY(op.emit("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}}));
  return op.finish("Reshape", {rows, op.ints({0, 0, -1})});
}

Result<OperandId> sum_of(Lowering& op, OperandId a, OperandId b) {
  if (!a.is_valid() || !b.is_valid()) return a.is_valid() ? a : b;
  return op.emit("Add", {a, b});
}

}  // namespace sluice::ops
