// The part of GraphBuilder that inlines a call of a model's own function.
#include <algorithm>

#include "onnx/attribute.h"
#include "onnx/graph_builder.h"
#include "onnx/proto/names.h"

namespace sluice::onnx {
namespace {

// A file may hold a function that calls itself; inlining must not exhaust the stack.
constexpr int kMaxCallDepth = 32;
// Functions that call others twice double at each level: a small file could ask for any size.
constexpr std::int64_t kMaxCost = std::int64_t{1} << 20;
// Each level of calls makes names longer; above this a number takes the place of the path.
constexpr std::size_t kMaxPrefix = 256;

Status check_call(const pb::NodeProto& node, const pb::FunctionProto& function) {
  if (node.input_size() > function.input_size() || node.output_size() > function.output_size()) {
    return invalid_argument("has {} inputs and {} outputs; the function has {} and {}",
                            node.input_size(), node.output_size(), function.input_size(),
                            function.output_size());
  }
  return ok_status();
}

}  // namespace

Result<ir::Attributes> GraphBuilder::read_arguments(pb::NodeProto& node, Function& function,
                                                    Scope& scope) {
  ir::Attributes arguments = SLUICE_TRY(read_attributes(node, scope, nullptr));
  for (pb::AttributeProto& parameter : function.default_values) {
    if (arguments.contains(parameter.name())) continue;
    arguments.set(parameter.name(), SLUICE_TRY(read_attribute(parameter, tensors_, types_)));
  }
  return arguments;
}

Status GraphBuilder::inline_call(pb::NodeProto& node, Function& function, Scope& scope) {
  SLUICE_TRY(check_call(node, *function.proto));
  if (function.is_open) {
    return invalid_argument("the function \"{}\" calls itself, or one that calls it",
                            function.proto->name());
  }
  if (depth_ >= kMaxCallDepth) {
    return invalid_argument("functions call each other more than {} deep", kMaxCallDepth);
  }
  cost_ += function.cost;
  if (cost_ > kMaxCost) {
    return make_error(Code::kResourceExhausted,
                      "the functions of the model inline to too many "
                      "nodes; call fewer of them");
  }
  const ir::Attributes arguments = SLUICE_TRY(read_arguments(node, function, scope));
  function.is_open = true;
  Status status = inline_body(node, function, arguments, scope);
  function.is_open = false;
  return status;
}

Status GraphBuilder::inline_body(const pb::NodeProto& node, Function& function,
                                 const ir::Attributes& arguments, Scope& scope) {
  std::string prefix = scope.prefix() + node_name(node) + "/";
  // Outputs take the caller's names from the start, so no copies are needed at the end.
  if (prefix.size() > kMaxPrefix) prefix = fmt::format("call{}/", ++num_calls_);
  std::map<std::string, std::string> renamed;
  for (int i = 0; i < node.output_size(); ++i) {
    if (!node.output(i).empty()) {
      renamed.emplace(function.proto->output(i), scope.operand_name(node.output(i)));
    }
  }
  Scope body(scope, std::move(prefix), std::move(renamed));
  body.opsets = &function.opsets;
  body.arguments = &arguments;
  const auto inputs = SLUICE_TRY(find_inputs(node, scope));
  for (int i = 0; i < function.proto->input_size(); ++i) {
    const auto index = static_cast<std::size_t>(i);
    const ir::OperandId id = index < inputs.size() ? inputs[index] : ir::OperandId();
    SLUICE_TRY(body.define(function.proto->input(i), id));
  }
  ++depth_;
  for (pb::NodeProto* inner : function.nodes) SLUICE_TRY(add_node(*inner, body));
  --depth_;
  return define_call_outputs(node, function, body, scope);
}

/// A function may hand an input through or give one value twice: such an output is a copy, because
/// an operand has one name.
Status GraphBuilder::define_call_outputs(const pb::NodeProto& node, const Function& function,
                                         Scope& body, Scope& scope) {
  const auto& inputs = function.proto->input();
  std::map<std::string, int> seen;
  for (int i = 0; i < node.output_size(); ++i) {
    if (node.output(i).empty()) continue;
    const std::string& formal = function.proto->output(i);
    const auto id = body.find(formal);
    if (!id || !id->is_valid()) {
      return invalid_argument("no node of the function writes its output \"{}\"", formal);
    }
    const bool is_input = std::find(inputs.begin(), inputs.end(), formal) != inputs.end();
    if (!is_input && seen.emplace(formal, i).second) {
      SLUICE_TRY(scope.define(node.output(i), *id));
      continue;
    }
    ir::Operation copy;
    copy.kind = "Identity";
    copy.name = scope.prefix() + node.output(i);
    copy.inputs = {*id};
    copy.outputs = {SLUICE_TRY(scope.define_operand(node.output(i)))};
    SLUICE_TRY(set_version(copy, scope));
    scope.subgraph().add_operation(std::move(copy));
  }
  return ok_status();
}

}  // namespace sluice::onnx
