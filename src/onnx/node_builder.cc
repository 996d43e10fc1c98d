// The part of GraphBuilder that imports one node.
#include <algorithm>
#include <set>

#include "ir/source.h"
#include "onnx/attribute.h"
#include "onnx/faults/attribute_names.h"
#include "onnx/graph_builder.h"
#include "onnx/proto/names.h"
#include "onnx/source.h"
#include "onnx/tensors/constant_node.h"
#include "ops/attribute_rules.h"
#include "ops/schema.h"

namespace sluice::onnx {
namespace {

using Kind = pb::AttributeProto;

bool is_graph(const pb::AttributeProto& attribute) {
  const auto kind = attribute_kind(attribute);
  return kind == Kind::GRAPH || kind == Kind::GRAPHS;
}

}  // namespace

/// A node of a graph whose fault is noted does not end the import: the next one may have a fault,
/// too. A fault inside a function is one of its call.
Status GraphBuilder::add_node(pb::NodeProto& node, Scope& scope) {
  const int depth = depth_;
  Status status = add_checked_node(node, scope);
  if (status.is_ok() || scope.is_call()) return status;
  depth_ = depth;
  return note_fault(node, std::move(status), scope);
}

Status GraphBuilder::note_fault(const pb::NodeProto& node, Status fault, Scope& scope) {
  // Without memory the next node would fail for the same reason.
  const bool is_last = fault.code() == Code::kResourceExhausted || findings_.is_full();
  if (is_last) return fault;
  findings_.add(std::move(fault));
  for (const std::string& output : node.output()) {
    // Defined all the same: readers of a faulty node would otherwise report errors of their own.
    if (output.empty() || scope.defines(output)) continue;
    if (!scope.define_operand(output).is_ok()) break;  // its name is refused
  }
  return ok_status();
}

Status GraphBuilder::add_checked_node(pb::NodeProto& node, Scope& scope) {
  SLUICE_TRY(check_name(node.name()));
  SLUICE_TRY(check_name(node.domain()));
  SLUICE_TRY(check_name(node.op_type()));
  const std::string where = describe(node);
  if (Function* function = functions_.find(node)) {
    return inline_call(node, *function, scope).with_context(where);
  }
  SLUICE_TRY(check_attribute_names(node, *scope.opsets).with_context(where));
  if (node.op_type() == "Constant" && canonical_domain(node.domain()).empty()) {
    const ir::Attributes attributes =
        SLUICE_TRY(read_attributes(node, scope, nullptr).with_context(where));
    if (node.output_size() != 1) return invalid_argument("{}: must have exactly one output", where);
    return scope.define_constant(node.output(0),
                                 SLUICE_TRY(constant_of(attributes).with_context(where)));
  }
  return add_operation(node, scope);
}

Status GraphBuilder::add_operation(pb::NodeProto& node, Scope& scope) {
  const std::string where = describe(node);
  std::vector<Nested> nested;
  ir::Operation operation;
  operation.domain = canonical_domain(node.domain());
  operation.kind = node.op_type();
  operation.name = scope.prefix() + node_name(node);
  operation.inputs = SLUICE_TRY(find_inputs(node, scope));
  operation.attributes = SLUICE_TRY(read_attributes(node, scope, &nested).with_context(where));
  for (const std::string& output : node.output()) {
    operation.outputs.push_back(output.empty() ? ir::OperandId()
                                               : SLUICE_TRY(scope.define_operand(output)));
  }
  SLUICE_TRY(set_version(operation, scope));
  if (!nested.empty()) SLUICE_TRY(add_captures(nested, operation, scope));
  ir::set_source(graph_, operation.name, describe_source(node));
  scope.subgraph().add_operation(std::move(operation));
  return ok_status();
}

Result<std::vector<ir::OperandId>> GraphBuilder::find_inputs(const pb::NodeProto& node,
                                                             Scope& scope) {
  std::vector<ir::OperandId> inputs;
  for (const std::string& name : node.input()) {
    const auto id = name.empty() ? ir::OperandId() : scope.find(name);
    if (!id) {
      return invalid_argument(
          "{}: input \"{}\" is not an input, initializer or output of a node; the file is "
          "incomplete",
          describe(node), name);
    }
    inputs.push_back(*id);
  }
  // Trailing absent inputs mean the same as none; later code counts inputs.
  while (!inputs.empty() && !inputs.back().is_valid()) inputs.pop_back();
  return inputs;
}

/// The version of an operator that other runtimes run although the file is wrong about it.
std::optional<int> GraphBuilder::accepted_version(const ir::Operation& operation,
                                                  const Scope& scope) {
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  if (schema == nullptr) return std::nullopt;
  if (!scope.opsets->contains(operation.domain)) {
    if (operation.domain.empty()) return std::nullopt;
    warnings_.insert(
        fmt::format("the model imports no version of operator set \"{}\"; the newest is taken",
                    operation.domain));
    return schema->newest_version();
  }
  if (operation.domain.empty() && operation.kind == "LayerNormalization") {
    warnings_.insert("LayerNormalization is newer than the imported opset");
    return schema->versions.front();
  }
  return std::nullopt;
}

Status GraphBuilder::set_version(ir::Operation& operation, const Scope& scope) {
  const auto opset = scope.opsets->find(operation.domain);
  const bool is_imported = opset != scope.opsets->end();
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  auto version =
      schema && is_imported ? ops::version_in_opset(*schema, opset->second) : std::nullopt;
  if (!version) version = accepted_version(operation, scope);
  if (!version && !is_imported) {
    return invalid_argument("{}: the model imports no version of operator set \"{}\"",
                            operation.describe(), shown_domain(operation.domain));
  }
  if (!version) {
    findings_.add_operator(operation.domain, operation.kind, opset->second, operation.name);
    return ok_status();
  }
  operation.version = *version;
  SLUICE_TRY(ops::check_no_state(*schema, operation));
  return ops::normalize(*schema, scope.subgraph(), operation);
}

Status GraphBuilder::add_captures(const std::vector<Nested>& nested, ir::Operation& operation,
                                  Scope& scope) {
  std::vector<ir::OperandId> captured;  // by any of the bodies, each once
  std::set<ir::OperandId> seen;
  for (const Nested& body : nested) {
    for (const Capture& capture : body.captures) {
      if (seen.insert(capture.outer).second) captured.push_back(capture.outer);
    }
  }
  for (const Nested& body : nested) {
    std::map<ir::OperandId, ir::OperandId> inner;
    for (const Capture& capture : body.captures) inner[capture.outer] = capture.inner;
    // All bodies of an operation take the same captures in the same order; one that does not read a
    // capture gets an unread input.
    for (const ir::OperandId outer : captured) {
      ir::Subgraph& subgraph = graph_.subgraph(body.id);
      const auto own = inner.find(outer);
      const ir::OperandId input =
          own != inner.end()
              ? own->second
              : subgraph.add_operand({"", scope.subgraph().operand(outer).type, std::nullopt});
      subgraph.inputs.push_back(input);
    }
  }
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  const std::size_t named = schema == nullptr ? 0 : schema->inputs.size() - 1;  // one is variadic
  if (operation.inputs.size() < named) operation.inputs.resize(named);
  operation.inputs.insert(operation.inputs.end(), captured.begin(), captured.end());
  operation.attributes.set("captures", static_cast<std::int64_t>(captured.size()));
  return ok_status();
}

Result<ir::Attributes> GraphBuilder::read_attributes(pb::NodeProto& node, Scope& scope,
                                                     std::vector<Nested>* nested) {
  ir::Attributes attributes;
  for (pb::AttributeProto& attribute : *node.mutable_attribute()) {
    SLUICE_TRY(check_name(attribute.name()));
    if (attributes.contains(attribute.name())) {
      return invalid_argument("attribute \"{}\" is given twice", attribute.name());
    }
    SLUICE_TRY(add_attribute(attribute, scope, nested, attributes));
  }
  if (canonical_domain(node.domain()).empty()) {
    SLUICE_TRY(ops::check_attribute_rules(node.op_type(), attributes));
  }
  return attributes;
}

Status GraphBuilder::add_attribute(pb::AttributeProto& attribute, Scope& scope,
                                   std::vector<Nested>* nested, ir::Attributes& attributes) {
  if (!attribute.ref_attr_name().empty()) {
    if (scope.arguments == nullptr) {
      return invalid_argument("attribute \"{}\" refers to a parameter outside a function",
                              attribute.name());
    }
    for (const auto& [name, value] : *scope.arguments) {
      if (name == attribute.ref_attr_name()) attributes.set(attribute.name(), value);
    }
    return ok_status();  // absent: the operator's own default holds
  }
  if (!is_graph(attribute)) {
    attributes.set(attribute.name(), SLUICE_TRY(read_attribute(attribute, tensors_, types_)));
    return ok_status();
  }
  if (nested == nullptr) {
    return unimplemented("attribute \"{}\" is a graph; functions do not support graphs",
                         attribute.name());
  }
  attributes.set(attribute.name(), SLUICE_TRY(read_graphs(attribute, scope, *nested)));
  return ok_status();
}

Result<ir::Attribute> GraphBuilder::read_graphs(pb::AttributeProto& attribute, Scope& scope,
                                                std::vector<Nested>& nested) {
  if (attribute_kind(attribute) == Kind::GRAPH) {
    nested.push_back(SLUICE_TRY(build_nested(*attribute.mutable_g(), scope)));
    return ir::Attribute(nested.back().id);
  }
  std::vector<ir::SubgraphId> ids;
  for (pb::GraphProto& graph : *attribute.mutable_graphs()) {
    nested.push_back(SLUICE_TRY(build_nested(graph, scope)));
    ids.push_back(nested.back().id);
  }
  return ir::Attribute(std::move(ids));
}

}  // namespace sluice::onnx
