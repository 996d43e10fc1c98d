#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "passes/match.h"
#include "passes/rewrites.h"
#include "passes/walk.h"

namespace sluice::passes {
namespace {

bool keeps_type(const ir::Subgraph& subgraph, const ir::Operation& operation) {
  return same_type(subgraph, operation.input(0), operation.output(0));
}

bool moves_nothing(const ir::Operation& transpose) {
  const auto* perm = transpose.attributes.find<std::vector<std::int64_t>>("perm");
  if (perm == nullptr) return false;
  for (std::size_t i = 0; i < perm->size(); ++i) {
    if ((*perm)[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

/// Whether the number `id` is the neutral element of the operation: with it as input 1, the result
/// is input 0. The sign of a zero counts: -0 + 0 is 0, but x + -0 and x - 0 are x.
bool is_neutral(const ir::Subgraph& subgraph, const ir::Operation& operation, ir::OperandId id) {
  const bool is_factor = operation.is("Mul") || operation.is("Div") || operation.is("Pow");
  if (!is_factor && !operation.is("Add") && !operation.is("Sub")) return false;
  const auto number = scalar_value(subgraph, id);
  if (!number) return false;
  if (is_factor) return *number == 1;
  const bool is_float = ir::is_floating_point(subgraph.operand(id).type.element());
  return *number == 0 && (!is_float || std::signbit(*number) == operation.is("Add"));
}

bool is_all(const ir::Subgraph& subgraph, ir::OperandId id, double number) {
  const ir::Constant* constant = subgraph.find_constant(id);
  if (constant == nullptr) return false;
  if (const auto ints = ir::integer_values(*constant)) {
    return std::ranges::all_of(*ints,
                               [&](auto value) { return static_cast<double>(value) == number; });
  }
  const auto floats = ir::float_values(*constant);
  return floats && std::ranges::all_of(*floats, [&](double value) { return value == number; });
}

/// Whether a Resize whose result has its input's shape takes every element from its own place.
bool scales_nothing(const ir::Subgraph& subgraph, const ir::Operation& resize) {
  const auto mode = resize.attributes.get_or<std::string>("coordinate_transformation_mode", "");
  if (mode == "tf_crop_and_resize" || mode == "tf_half_pixel_for_nn") return false;
  return resize.input(2).is_valid() ? is_all(subgraph, resize.input(2), 1)
                                    : resize.input(3).is_valid();
}

/// The input that output 0 is a copy of; invalid if it is none.
ir::OperandId copied_input(const ir::Subgraph& subgraph, const ir::Operation& operation) {
  const ir::OperandId first = operation.input(0);
  if (!operation.domain.empty() || operation.body || !first.is_valid() ||
      !operation.output(0).is_valid()) {
    return {};
  }
  if (operation.is("Identity")) return first;
  if (operation.is("Dropout") && is_inference_dropout(subgraph, operation)) return first;
  if (!keeps_type(subgraph, operation)) {
    const bool commutes = operation.is("Add") || operation.is("Mul");
    if (!commutes || !operation.input(1).is_valid()) return {};
    ir::Operation swapped = operation;
    std::swap(swapped.inputs[0], swapped.inputs[1]);
    const bool is_copy =
        keeps_type(subgraph, swapped) && is_neutral(subgraph, swapped, swapped.input(1));
    return is_copy ? swapped.input(0) : ir::OperandId();
  }
  if (operation.is("Cast") || operation.is("Expand") || has_trait(operation, ops::kView)) {
    return first;
  }
  if (operation.is("Transpose") && moves_nothing(operation)) return first;
  if (operation.is("Pad") && is_all(subgraph, operation.input(1), 0)) return first;
  if (operation.is("Resize") && scales_nothing(subgraph, operation)) return first;
  if (operation.is("Concat") && operation.inputs.size() == 1) return first;
  return is_neutral(subgraph, operation, operation.input(1)) ? first : ir::OperandId();
}

/// Equivalence classes of operands with the same value; readers use the class's name.
class Classes {
 public:
  explicit Classes(const ir::Subgraph& subgraph)
      : uses_(subgraph), names_(subgraph.num_operands()) {
    for (std::size_t i = 0; i < names_.size(); ++i) names_[i] = ir::OperandId(i);
  }

  ir::OperandId name_of(ir::OperandId id) {
    while (id.is_valid() && names_[id.index()] != id) {
      ir::OperandId& next = names_[id.index()];
      next = names_[next.index()];
      id = next;
    }
    return id;
  }

  /// Joins the classes of `copy` and `source`. False if both names must stay: a subgraph's output
  /// keeps its name, and an input or a constant cannot take another.
  bool join(ir::OperandId copy, ir::OperandId source) {
    const ir::OperandId name = name_of(source);
    if (!uses_.is_output(copy)) {
      names_[copy.index()] = name;
      return true;
    }
    if (uses_.is_output(name) || !uses_.producer(name).is_valid()) return false;
    names_[name.index()] = copy;
    return true;
  }

 private:
  ir::UseIndex uses_;
  std::vector<ir::OperandId> names_;  // towards the class's name
};

bool has_second_output(const ir::UseIndex& uses, const ir::Operation& operation) {
  for (std::size_t i = 1; i < operation.outputs.size(); ++i) {
    const ir::OperandId output = operation.outputs[i];
    if (output.is_valid() && (uses.is_output(output) || !uses.readers(output).empty())) return true;
  }
  return false;
}

int remove_identities(ir::Subgraph& subgraph) {
  const ir::UseIndex uses(subgraph);
  Classes classes(subgraph);
  std::vector<ir::OperationId> kept;
  for (const ir::OperationId id : subgraph.order()) {
    const ir::Operation& operation = subgraph.operation(id);
    const ir::OperandId source = copied_input(subgraph, operation);
    if (!source.is_valid() || has_second_output(uses, operation) ||
        !classes.join(operation.output(0), source)) {
      kept.push_back(id);
    }
  }
  const auto num_removed = static_cast<int>(subgraph.num_operations() - kept.size());
  if (num_removed == 0) return 0;
  subgraph.set_order(std::move(kept));
  const auto rename = [&](std::vector<ir::OperandId>& ids) {
    for (ir::OperandId& id : ids) id = classes.name_of(id);
  };
  for (const ir::OperationId id : subgraph.order()) {
    ir::Operation& operation = subgraph.operation(id);
    rename(operation.inputs);
    rename(operation.outputs);
    if (operation.body) rename(operation.body->inputs);
  }
  rename(subgraph.outputs);
  return num_removed;
}

}  // namespace

Result<int> remove_identities(ir::Graph& graph, const PassContext& /*context*/) {
  return rewrite_subgraphs(graph, [&](ir::SubgraphId id) -> Result<int> {
    return remove_identities(graph.subgraph(id));
  });
}

}  // namespace sluice::passes
