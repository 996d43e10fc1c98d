#include "exec/constants/replace_constants.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "exec/constants/named_constants.h"
#include "ops/control/structure.h"
#include "ops/inference.h"

namespace sluice::exec {
namespace {

// Models have thousands; the message should help with a misspelt name, not fill the screen.
constexpr int kMaxNamesListed = 20;

std::string list_names(const std::vector<NamedConstant>& constants) {
  std::string names;
  int num_listed = 0;
  for (const NamedConstant& constant : constants) {
    if (++num_listed > kMaxNamesListed) return names + " ...";
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", constant.name);
  }
  return names.empty() ? "none" : names;
}

bool is_read_by_shapes(const ir::Graph& graph, const ConstantPlace& place);

/// Whether the operation passes the constant to a shape function, or to a body that does: then
/// types and plan depend on its value.
// NOLINTNEXTLINE(misc-no-recursion): as deep as bodies nest, which import bounds
bool passes_to_shapes(const ir::Graph& graph, const ir::Operation& operation,
                      ir::OperandId constant) {
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  if (schema == nullptr) return false;
  const bool has_captures = operation.attributes.contains("captures");
  for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
    if (operation.inputs[i] != constant) continue;
    if (i < schema->inputs.size() && schema->inputs[i].is_shape_value) return true;
    if (!has_captures || i < ops::num_own_inputs(operation)) continue;
    for (const auto& [name, value] : operation.attributes) {
      const auto* body = std::get_if<ir::SubgraphId>(&value);
      if (body == nullptr) continue;
      const std::vector<ir::OperandId>& inputs = graph.subgraph(*body).inputs;
      // The last inputs of operation and body are the captures.
      const std::size_t from_end = operation.inputs.size() - i;
      if (is_read_by_shapes(graph, {*body, inputs[inputs.size() - from_end]})) return true;
    }
  }
  return false;
}

// NOLINTNEXTLINE(misc-no-recursion): as above
bool is_read_by_shapes(const ir::Graph& graph, const ConstantPlace& place) {
  const ir::Subgraph& subgraph = graph.subgraph(place.subgraph);
  return std::ranges::any_of(subgraph.order(), [&](ir::OperationId id) {
    return passes_to_shapes(graph, subgraph.operation(id), place.operand);
  });
}

Status check_value(const ir::Graph& graph, const NamedConstant& constant,
                   const ir::Constant& value) {
  const std::string& name = constant.name;
  const ir::Type& type = constant.value.type;
  if (!constant.is_one_value) {
    return invalid_argument("constant \"{}\": {} different ones have this name", name,
                            constant.places.size());
  }
  if (!(value.type == type)) {
    return invalid_argument("constant \"{}\": got {}, model takes {}", name, value.type.to_string(),
                            type.to_string());
  }
  const auto size = ir::storage_bytes(type);
  // Strings have no fixed size, so they fail here.
  if (!size || static_cast<std::size_t>(*size) != value.data.size()) {
    return invalid_argument("constant \"{}\": {} takes {} bytes, got {}", name, type.to_string(),
                            size.value_or(-1), value.data.size());
  }
  const auto is_shape = [&](const ConstantPlace& place) { return is_read_by_shapes(graph, place); };
  if (std::ranges::any_of(constant.places, is_shape)) {
    return unimplemented("constant \"{}\": shapes were planned with it; compile the model anew",
                         name);
  }
  return ok_status();
}

bool reads(const ir::Graph& graph, const package::PackedConstant& packed,
           const ConstantPlace& place) {
  if (packed.subgraph != place.subgraph.index()) return false;
  const ir::Subgraph& subgraph = graph.subgraph(place.subgraph);
  if (packed.operation >= subgraph.order().size()) return false;
  const ir::Operation& operation = subgraph.operation(subgraph.order()[packed.operation]);
  return packed.input < operation.inputs.size() && operation.inputs[packed.input] == place.operand;
}

}  // namespace

Result<package::Executable> replace_constants(const package::Executable& executable,
                                              const ConstantsByName& values) {
  if (values.empty()) return executable;
  package::Executable replaced = executable;
  ir::Graph& graph = replaced.graph;
  const std::vector<NamedConstant> constants = named_constants(graph);
  for (const auto& [name, value] : values) {
    const auto constant = std::ranges::find(constants, name, &NamedConstant::name);
    if (constant == constants.end()) {
      return make_error(Code::kNotFound, "the model has no constant \"{}\"; it has {}", name,
                        list_names(constants));
    }
    SLUICE_TRY(check_value(graph, *constant, value));
    for (const ConstantPlace& place : constant->places) {
      graph.subgraph(place.subgraph).operand(place.operand).constant->data = value.data;
      // What was packed from the old bytes goes; the loader packs the new ones.
      std::erase_if(replaced.packed, [&](const package::PackedConstant& packed) {
        return reads(graph, packed, place);
      });
    }
  }
  return replaced;
}

}  // namespace sluice::exec
