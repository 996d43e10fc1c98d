// One input, one output of the same shape: Relu, Sqrt, Tanh, ...
#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

OpSchema unary(std::string_view name, std::vector<int> versions, TypeSet types,
               std::string_view doc) {
  return {.domain = "",
          .name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{.name = "X", .types = types, .variable = "T"}},
          .outputs = {{.name = "Y", .types = types, .variable = "T"}},
          .attributes = {},
          .infer = infer_same_as_input,
          .traits = kElementwise,
          .upgrade = upgrade_unchanged};
}

}  // namespace

std::vector<OpSchema> elementwise_unary_ops() {
  return {
      unary("Relu", {6, 13, 14}, kFloats | kSignedInts, "max(x, 0)"),
      unary("Sqrt", {6, 13}, kFloats, "square root"),
  };
}

}  // namespace sluice::ops
