#include "exec/facts/facts.h"

namespace sluice::exec {
namespace {

bool are_equal(const ops::OperandFacts& a, const ops::OperandFacts& b) {
  return a.type == b.type && a.values == b.values && a.float_values == b.float_values;
}

}  // namespace

const ops::OperandFacts& Facts::none() {
  static const ops::OperandFacts kNone;
  return kNone;
}

bool Facts::set(ir::OperandId id, ops::OperandFacts facts, const Facts* similar) {
  const bool is_equal = similar != nullptr && similar->table_[id.index()] != nullptr &&
                        are_equal(facts, *similar->table_[id.index()]);
  if (is_equal) {
    // Shares the object: is_same() then compares pointers, however long the values are.
    take(id, *similar);
  } else {
    table_.set(id.index(), std::make_shared<const ops::OperandFacts>(std::move(facts)));
  }
  return is_equal;
}

void Facts::take_if_equal(ir::OperandId id, const Facts& from) {
  const auto& own = table_[id.index()];
  const auto& other = from.table_[id.index()];
  if (own != nullptr && other != nullptr && are_equal(*own, *other)) take(id, from);
}

std::vector<const ops::OperandFacts*> Facts::inputs_of(const ir::Operation& operation) const {
  std::vector<const ops::OperandFacts*> inputs;
  inputs.reserve(operation.inputs.size());
  operation.for_each_read([&](ir::OperandId input) { inputs.push_back(&of(input)); });
  return inputs;
}

}  // namespace sluice::exec
