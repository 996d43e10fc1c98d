// Running sums and products along one axis.
#include "ops/families.h"
#include "ops/inference.h"

namespace sluice::ops {
namespace {

OpSchema cumulative(std::string_view name, std::vector<int> versions, std::string_view doc) {
  return {.name = name,
          .versions = std::move(versions),
          .doc = doc,
          .inputs = {{.name = "x", .types = kNumbers, .variable = "T"},
                     {.name = "axis", .types = kIndices, .is_single = true}},
          .outputs = {{.name = "y", .types = kNumbers, .variable = "T"}},
          .attributes = {{.name = "exclusive", .default_value = std::int64_t{0}},
                         {.name = "reverse", .default_value = std::int64_t{0}}},
          .infer = infer_same_as_input};
}

}  // namespace

std::vector<OpSchema> cumulative_ops() {
  return {cumulative("CumProd", {26}, "running product along an axis"),
          cumulative("CumSum", {11, 14}, "running sum along an axis")};
}

}  // namespace sluice::ops
