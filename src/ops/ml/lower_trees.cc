#include <numeric>

#include "ops/lowering/lower_operations.h"
#include "ops/ml/pieces.h"

namespace sluice::ops {
namespace {

using IntVector = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

Status lower_named_classes(Lowering& op) {
  Lowering::AttributeList attributes;
  Texts names;
  for (const auto& [name, value] : op.operation().attributes) {
    if (name == "classlabels_strings") {
      names = std::get<Texts>(value);
    } else {
      attributes.emplace_back(name, value);
    }
  }
  IntVector numbers(names.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  attributes.emplace_back("classlabels_int64s", numbers);
  const auto made = SLUICE_TRY(op.emit_many(op.operation().kind, op.operation().inputs, 2,
                                            attributes, op.operation().domain));
  // Scores have no names and stay as they are.
  if (op.wants(1)) SLUICE_TRY(op.finish("Identity", {made[1]}, {}, {1}));
  return op.finish("Gather", {texts(op, names), made[0]});
}

}  // namespace

LowerFn find_tree_lowering(const ir::Operation& operation) {
  if (!operation.is("TreeEnsembleClassifier", "ai.onnx.ml")) return nullptr;
  const Texts* names = operation.attributes.find<Texts>("classlabels_strings");
  return names == nullptr || names->empty() ? nullptr : lower_named_classes;
}

}  // namespace sluice::ops
