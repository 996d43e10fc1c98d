#include "onnx/graph_builder.h"

#include <algorithm>
#include <utility>

#include "onnx/maps.h"
#include "onnx/proto/names.h"
#include "onnx/proto/sort.h"

namespace sluice::onnx {
namespace {

/// Import, verification and execution of nested graphs are recursive; the bound protects the stack.
constexpr int kMaxSubgraphDepth = 32;

bool is_input(const pb::GraphProto& graph, const std::string& name) {
  for (const auto& input : graph.input()) {
    if (input.name() == name) return true;
  }
  return false;
}

/// Whether a dimension of an input has this name.
bool is_symbol(const pb::GraphProto& graph, const std::string& name) {
  for (const auto& input : graph.input()) {
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      if (dim.dim_param() == name) return true;
    }
  }
  return false;
}

std::string input_names(const pb::GraphProto& graph) {
  // Enough to see a misspelling; a model may have thousands of inputs.
  constexpr int kMaxNamed = 10;
  std::string names;
  for (int i = 0; i < std::min(graph.input_size(), kMaxNamed); ++i) {
    names += fmt::format("{}\"{}\"", i > 0 ? ", " : "", graph.input(i).name());
  }
  return graph.input_size() > kMaxNamed ? names + ", ..." : names;
}

/// Names of the file win over those that inlining makes.
void reserve_names(const pb::GraphProto& proto, Scope& scope) {
  for (const auto& input : proto.input()) scope.reserve(input.name());
  for (const auto& tensor : proto.initializer()) scope.reserve(tensor.name());
  for (const auto& tensor : proto.sparse_initializer()) scope.reserve(tensor.values().name());
  for (const auto& node : proto.node()) {
    for (const auto& output : node.output()) scope.reserve(output);
  }
}

}  // namespace

Status GraphBuilder::bind_shapes(const pb::GraphProto& main, const ImportOptions& options) {
  for (const auto& [name, dims] : options.shapes) {
    if (is_input(main, name)) continue;
    if (!is_symbol(main, name)) {
      return invalid_argument(
          "a shape is given for \"{}\", which is not an input, nor the name of a dimension of one; "
          "the inputs are {}",
          name, input_names(main));
    }
    if (dims.size() != 1) {
      return invalid_argument("dimension \"{}\" takes one number, {} are given", name, dims.size());
    }
    SLUICE_TRY(types_.bind(name, dims.front()));
  }
  for (const auto& input : main.input()) {
    const auto wanted = options.shapes.find(input.name());
    if (wanted == options.shapes.end()) continue;
    SLUICE_TRY(types_.bind(input.type(), wanted->second)
                   .with_context("shape of input \"" + input.name() + "\""));
  }
  return ok_status();
}

void GraphBuilder::add_raw_data(const pb::GraphProto& main, const std::vector<Bytes>& raw) {
  const auto count = std::min(raw.size(), static_cast<std::size_t>(main.initializer_size()));
  for (std::size_t i = 0; i < count; ++i) {
    if (raw[i].size() > 0) tensors_.add_raw_data(main.initializer(static_cast<int>(i)), raw[i]);
  }
}

Status GraphBuilder::add_initializers(pb::GraphProto& proto, Scope& scope) {
  for (pb::TensorProto& tensor : *proto.mutable_initializer()) {
    // `read` takes the bytes out of the message: weights exist once while the graph is built.
    ir::Constant value = SLUICE_TRY(tensors_.read(tensor));
    if (is_overridable(scope, tensor.name())) {
      SLUICE_TRY(add_default(tensor.name(), std::move(value), proto, scope));
    } else {
      SLUICE_TRY(scope.define_constant(tensor.name(), std::move(value)));
    }
  }
  for (pb::SparseTensorProto& tensor : *proto.mutable_sparse_initializer()) {
    const std::string name = tensor.values().name();
    SLUICE_TRY(scope.define_constant(name, SLUICE_TRY(tensors_.read_dense(tensor))));
  }
  return ok_status();
}

bool GraphBuilder::is_overridable(const Scope& scope, const std::string& name) const {
  return scope.subgraph_id().index() == 0 && overridable_.contains(name);
}

/// An input under the initializer's name, and what readers of that name get: the input or, if the
/// caller leaves it out, the initializer.
Status GraphBuilder::add_default(const std::string& name, ir::Constant value,
                                 const pb::GraphProto& main, Scope& scope) {
  SLUICE_TRY(check_name(name));
  const ir::Type type = SLUICE_TRY(type_of_default(name, value.type, main));
  ir::Subgraph& subgraph = scope.subgraph();
  ir::Operation choice;
  choice.domain = "sluice";
  choice.kind = "InputOrDefault";
  choice.name = name;
  choice.inputs = {subgraph.add_operand({scope.operand_name(name), type, std::nullopt}),
                   subgraph.add_constant("", std::move(value))};
  choice.outputs = {subgraph.add_operand({"", type, std::nullopt})};
  inputs_with_default_.push_back(choice.inputs[0]);
  SLUICE_TRY(scope.define(name, choice.outputs[0]));
  subgraph.add_operation(std::move(choice));
  return ok_status();
}

/// A dimension that the file leaves open may be another in each run, so it shares its symbol with
/// no other input.
Result<ir::Type> GraphBuilder::type_of_default(const std::string& name, const ir::Type& own,
                                               const pb::GraphProto& main) {
  const auto input = std::ranges::find(main.input(), name, &pb::ValueInfoProto::name);
  const ir::Type declared = SLUICE_TRY(types_.read(input->type(), name));
  const ir::Shape* shape = declared.is_tensor() ? declared.shape() : nullptr;
  if (shape == nullptr || shape->size() != own.shape()->size()) return own;
  ir::Shape open = *own.shape();
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (!(*shape)[i].is_known()) open[i] = types_.new_dim(name + "_dim");
  }
  return own.with_shape(std::move(open));
}

Status GraphBuilder::declare_types(const pb::GraphProto& proto, Scope& scope) {
  const auto declare = [&](const pb::ValueInfoProto& value) -> Status {
    if (!value.has_type()) return ok_status();
    scope.declare(value.name(), SLUICE_TRY(types_.read(value.type(), value.name())
                                               .with_context("value \"" + value.name() + "\"")));
    return ok_status();
  };
  for (const auto& value : proto.value_info()) SLUICE_TRY(declare(value));
  for (const auto& value : proto.output()) SLUICE_TRY(declare(value));
  return ok_status();
}

Status GraphBuilder::add_main_inputs(const pb::GraphProto& main, const ImportOptions& options,
                                     Scope& scope) {
  for (const auto& input : main.input()) {
    // Before IR version 4 every initializer was listed as an input, too.
    if (scope.defines_constant(input.name()) || is_overridable(scope, input.name())) continue;
    const std::string context = "input \"" + input.name() + "\"";
    const auto wanted = options.shapes.find(input.name());
    const bool is_map = input.type().has_map_type();
    const ir::Type type = SLUICE_TRY(
        (is_map ? map_input_type(main, input, types_.new_dim(input.name() + "_keys"))
         : wanted == options.shapes.end() ? types_.read(input.type(), input.name())
                                          : types_.read_bound(input.type(), wanted->second))
            .with_context(context));
    if (type.kind() == ir::Type::Kind::kUnknown ||
        (type.is_tensor() && type.element() == ir::ElementType::kUndefined)) {
      return invalid_argument("{} has no type that can be used; export the model with types",
                              context);
    }
    scope.declare(input.name(), type);
  }
  return add_inputs(main, scope);
}

Status GraphBuilder::add_inputs(const pb::GraphProto& proto, Scope& scope) {
  for (const auto& input : proto.input()) {
    if (scope.defines_constant(input.name()) || is_overridable(scope, input.name())) continue;
    scope.subgraph().inputs.push_back(SLUICE_TRY(scope.define_operand(input.name())));
  }
  return ok_status();
}

Status GraphBuilder::add_nodes_and_outputs(pb::GraphProto& proto, Scope& scope) {
  // The standard demands this order; files that break it exist.
  for (pb::NodeProto* node : SLUICE_TRY(sort_nodes(*proto.mutable_node()))) {
    SLUICE_TRY(add_node(*node, scope));
  }
  for (const auto& output : proto.output()) {
    const auto id = scope.find(output.name());
    if (!id || !id->is_valid()) {
      return invalid_argument(
          "output \"{}\" of graph \"{}\" is written by no node; the file is incomplete",
          output.name(), proto.name());
    }
    scope.subgraph().outputs.push_back(*id);
  }
  return ok_status();
}

Result<GraphBuilder::Nested> GraphBuilder::build_nested(pb::GraphProto& proto, Scope& outer) {
  if (depth_ >= kMaxSubgraphDepth)
    return invalid_argument("graphs are nested more than {} deep", kMaxSubgraphDepth);
  SLUICE_TRY(check_name(proto.name()));
  ++depth_;
  const ir::SubgraphId id = graph_.add_subgraph(proto.name());
  Scope scope(graph_, id, &outer);
  reserve_names(proto, scope);
  SLUICE_TRY(add_initializers(proto, scope));
  for (const auto& input : proto.input()) {
    if (!input.has_type()) continue;
    scope.declare(input.name(), SLUICE_TRY(types_.read(input.type(), input.name())));
  }
  SLUICE_TRY(declare_types(proto, scope));
  SLUICE_TRY(add_inputs(proto, scope));
  SLUICE_TRY(add_nodes_and_outputs(proto, scope));
  --depth_;
  return Nested{id, {scope.captures().begin(), scope.captures().end()}};
}

Result<ir::Graph> GraphBuilder::build(pb::GraphProto& main, const ImportOptions& options,
                                      std::set<std::string> overridable) {
  overridable_ = std::move(overridable);
  Scope scope(graph_, ir::SubgraphId(std::size_t{0}), nullptr);
  scope.opsets = &opsets_;
  SLUICE_TRY(bind_shapes(main, options));
  reserve_names(main, scope);
  SLUICE_TRY(add_initializers(main, scope));
  SLUICE_TRY(declare_types(main, scope));
  SLUICE_TRY(add_main_inputs(main, options, scope));
  auto& inputs = scope.subgraph().inputs;
  inputs.insert(inputs.end(), inputs_with_default_.begin(), inputs_with_default_.end());
  Status built = add_nodes_and_outputs(main, scope);
  // Faults are collected, so that one error lists all operators that are missing.
  if (!built.is_ok()) findings_.add(std::move(built));
  SLUICE_TRY(findings_.status());
  return std::move(graph_);
}

}  // namespace sluice::onnx
