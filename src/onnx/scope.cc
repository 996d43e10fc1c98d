#include "onnx/scope.h"

#include "onnx/proto/names.h"

namespace sluice::onnx {

Scope::Scope(ir::Graph& graph, ir::SubgraphId subgraph, Scope* outer)
    : opsets(outer ? outer->opsets : nullptr),
      arguments(outer ? outer->arguments : nullptr),
      graph_(graph),
      subgraph_(subgraph),
      outer_(outer) {}

Scope::Scope(Scope& caller, std::string prefix, std::map<std::string, std::string> renamed)
    : opsets(caller.opsets),
      graph_(caller.graph_),
      subgraph_(caller.subgraph_),
      caller_(&caller),
      prefix_(std::move(prefix)),
      renamed_(std::move(renamed)) {}

// Looks outwards through enclosing graphs, and adds a capture to every graph on the way. The scope
// of an inlined function has no outer scope: a function sees its parameters only.
std::optional<ir::OperandId> Scope::find(const std::string& name) {
  const auto known = values_.find(name);
  if (known != values_.end()) return known->second;
  if (outer_ == nullptr) return std::nullopt;
  const auto outer = outer_->find(name);
  if (!outer || !outer->is_valid()) return outer;
  return capture(name, *outer);
}

ir::OperandId Scope::capture(const std::string& name, ir::OperandId outer) {
  ir::Operand copy = outer_->subgraph().operand(outer);
  copy.name = unused_name(name);
  const bool is_constant = copy.constant.has_value();
  const ir::OperandId inner = subgraph().add_operand(std::move(copy));
  // Constants are shared, so a copy costs nothing and needs no capture.
  if (!is_constant) captures_.push_back({outer, inner});
  values_.emplace(name, inner);
  return inner;
}

Status Scope::define(const std::string& name, ir::OperandId id) {
  SLUICE_TRY(check_name(name));
  if (values_.emplace(name, id).second) return ok_status();
  return invalid_argument("two values are named \"{}\"; names must be distinct", name);
}

Result<ir::OperandId> Scope::define_operand(const std::string& name) {
  const auto declared = declared_.find(name);
  const ir::Type type = declared == declared_.end() ? ir::Type() : declared->second;
  const ir::OperandId id =
      subgraph().add_operand(ir::Operand{operand_name(name), type, std::nullopt});
  SLUICE_TRY(define(name, id));
  return id;
}

Status Scope::define_constant(const std::string& name, ir::Constant constant) {
  return define(name, subgraph().add_constant(operand_name(name), std::move(constant)));
}

bool Scope::defines_constant(const std::string& name) const {
  const auto known = values_.find(name);
  return known != values_.end() && subgraph().is_constant(known->second);
}

std::string Scope::operand_name(const std::string& name) {
  const auto renamed = renamed_.find(name);
  if (renamed != renamed_.end()) return renamed->second;
  return caller_ == nullptr ? name : unused_name(prefix_ + name);
}

std::string Scope::unused_name(const std::string& wanted) {
  // A function is inlined into the graph of its caller, whose names it must not take.
  if (caller_ != nullptr) return caller_->unused_name(wanted);
  if (taken_.insert(wanted).second) return wanted;
  // Counts on from the last number, so that many equal names take linear time.
  int& number = last_number_.emplace(wanted, 1).first->second;
  std::string unused;
  do {
    unused = fmt::format("{}_{}", wanted, ++number);
  } while (!taken_.insert(unused).second);
  return unused;
}

}  // namespace sluice::onnx
