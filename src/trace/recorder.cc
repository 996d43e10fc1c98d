#include "trace/recorder.h"

#include <utility>

#include "ir/source.h"
#include "ir/verify.h"
#include "ops/attribute_rules.h"
#include "ops/lowering/lower_operations.h"
#include "ops/schema.h"

namespace sluice::trace {
namespace {

/// The symbol that leads the first input with dimensions, if it is one: requests may be joined
/// along it.
std::string leading_symbol(const ir::Subgraph& main) {
  for (const ir::OperandId id : main.inputs) {
    const ir::Shape* shape = main.operand(id).type.shape();
    if (shape == nullptr || shape->empty()) continue;
    return shape->front().is_known() ? "" : shape->front().to_string();
  }
  return "";
}

}  // namespace

Status Recorder::check_new(const std::string& name, std::string_view what) const {
  if (name.empty()) return invalid_argument("an {} needs a name", what);
  if (names_.contains(name)) return invalid_argument("the name \"{}\" is taken", name);
  return ok_status();
}

Result<ir::OperandId> Recorder::add_input(const std::string& name, ir::Type type) {
  SLUICE_TRY(check_new(name, "input"));
  if (!type.is_tensor() || type.element() == ir::ElementType::kUndefined) {
    return invalid_argument("input \"{}\" is {}, not a tensor", name, type.to_string());
  }
  names_.insert(name);
  const ir::OperandId id = main().add_operand({name, std::move(type), std::nullopt});
  main().inputs.push_back(id);
  learn_new_operands();
  return id;
}

Result<ir::OperandId> Recorder::add_constant(const std::string& name, ir::Constant constant) {
  SLUICE_TRY(ir::verify_constant(constant).with_context(name.empty() ? "a constant" : name));
  const ir::OperandId id = main().add_constant("", std::move(constant));
  if (!name.empty() && names_.insert(name).second) main().operand(id).name = name;
  learn_new_operands();
  return id;
}

Result<ir::Operation> Recorder::operation_of(Recorded& recorded) {
  const ops::OpSchema* schema = ops::find_schema(recorded.domain, recorded.kind);
  if (schema == nullptr) {
    return unimplemented("there is no operator {}{}{}; docs/operators.md lists them",
                         recorded.domain, recorded.domain.empty() ? "" : "::", recorded.kind);
  }
  ir::Operation operation;
  operation.domain = std::move(recorded.domain);
  operation.kind = std::move(recorded.kind);
  const auto version = recorded.version == 0 ? std::optional(schema->newest_version())
                                             : ops::version_in_opset(*schema, recorded.version);
  operation.name = fmt::format("{}_{}", operation.kind, num_recorded_);
  operation.attributes = std::move(recorded.attributes);
  if (!version) {
    return invalid_argument("{}: there is no version {}", operation.describe(), recorded.version);
  }
  operation.version = *version;
  for (const ir::OperandId input : recorded.inputs) {
    if (input.is_valid() && !has(input)) {
      return invalid_argument("{}: reads a value that does not exist", operation.describe());
    }
    operation.inputs.push_back(input);
  }
  // As in a file: absent inputs at the end are not written.
  while (!operation.inputs.empty() && !operation.inputs.back().is_valid()) {
    operation.inputs.pop_back();
  }
  if (operation.domain.empty()) {
    SLUICE_TRY(ops::check_attribute_rules(operation.kind, operation.attributes)
                   .with_context(operation.describe()));
  }
  return operation;
}

void Recorder::learn_new_operands() {
  for (std::size_t i = facts_.size(); i < main().num_operands(); ++i) {
    facts_.push_back(ops::facts_of(main().operand(ir::OperandId(i))));
  }
}

Status Recorder::infer(ir::OperationId id) {
  learn_new_operands();
  const ir::Operation& operation = main().operation(id);
  const auto inputs = ops::input_facts(operation, facts_);
  ops::InferenceContext context(operation, inputs);
  context.hide_bounds();
  context.set_subgraph(ir::SubgraphId(std::size_t{0}));
  SLUICE_TRY(ops::infer_operation(context));
  for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
    const ir::OperandId output = operation.outputs[i];
    main().operand(output).type = context.output(i);
    facts_[output.index()] = {context.output(i), context.output_values(i), std::nullopt};
  }
  return ok_status();
}

Result<std::vector<ir::OperandId>> Recorder::record(Recorded recorded) {
  const std::size_t num_outputs = recorded.num_outputs;
  const std::string source = std::move(recorded.source);
  ir::Operation operation = SLUICE_TRY(operation_of(recorded));
  std::vector<ir::OperandId> outputs;
  for (std::size_t i = 0; i < num_outputs; ++i) outputs.push_back(main().add_operand({}));
  operation.outputs = outputs;
  const std::string name = operation.name;
  const std::size_t num_before = main().num_operations();
  // Old forms become new ones, which may take several operations.
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  Status status = ops::check_no_state(*schema, operation);
  if (status.is_ok()) status = ops::normalize(*schema, main(), operation);
  if (status.is_ok()) main().add_operation(std::move(operation));
  for (std::size_t i = num_before; status.is_ok() && i < main().num_operations(); ++i) {
    status = infer(main().order()[i]);
  }
  if (!status.is_ok()) {
    while (main().num_operations() > num_before) main().remove_operation(main().order().back());
    return status;
  }
  ++num_recorded_;
  ir::set_source(graph_, name, source);
  return outputs;
}

// Operands and constants of the failed operation stay behind, unread; graph() drops them.
Status Recorder::add_output(const std::string& name, ir::OperandId operand) {
  SLUICE_TRY(check_new(name, "output"));
  if (!has(operand)) return invalid_argument("output \"{}\" is a value that does not exist", name);
  // An operand of its own: the value may be an input, a constant, or another output.
  const auto copies = SLUICE_TRY(record({.kind = "Identity", .inputs = {operand}}));
  main().operand(copies.front()).name = name;
  main().outputs.push_back(copies.front());
  names_.insert(name);
  return ok_status();
}

Result<ir::Graph> Recorder::graph() const {
  if (graph_.main().outputs.empty()) return invalid_argument("the trace has no output");
  // A copy, so that recording may go on.
  ir::Graph graph = graph_;
  graph.metadata.insert_or_assign("producer", "sluice trace");
  const std::string batch = leading_symbol(graph.main());
  if (!batch.empty()) graph.metadata.insert_or_assign("batch_symbol", batch);
  graph.compact();
  SLUICE_TRY(ops::infer_types(graph));
  SLUICE_TRY(ops::lower_operations(graph));
  SLUICE_TRY(ops::infer_types(graph));
  return graph;
}

}  // namespace sluice::trace
