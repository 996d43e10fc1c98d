// ZipMap, DictVectorizer, CastMap: maps are rows (see maps.cc), so what is left is shape and type.
#include "ops/lowering/lower_operations.h"
#include "ops/ml/pieces.h"

namespace sluice::ops {
namespace {

Result<ir::OperandId> as_matrix(Lowering& op) {
  if (SLUICE_TRY(op.rank(0)) == 2) return op.input(0);
  return op.emit("Reshape", {op.input(0), op.ints({1, -1})});
}

Status lower_same_numbers(Lowering& op) {
  return op.finish("Identity", {SLUICE_TRY(as_matrix(op))});
}

Status lower_cast_map(Lowering& op) {
  const std::string target = text_of(op, "cast_to");
  const ir::ElementType element = target == "TO_INT64"    ? ir::ElementType::kI64
                                  : target == "TO_STRING" ? ir::ElementType::kString
                                                          : ir::ElementType::kF32;
  return op.finish_cast(SLUICE_TRY(as_matrix(op)), element);
}

}  // namespace

NamedLowerings map_lowerings() {
  return {{"CastMap", lower_cast_map},
          {"DictVectorizer", lower_same_numbers},
          {"ZipMap", lower_same_numbers}};
}

}  // namespace sluice::ops
