#include "fuzz/operators/mutate.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/operators/attributes.h"
#include "ops/schema.h"

namespace sluice::fuzz {
namespace {

constexpr std::int64_t kMaxDim = 40;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 16;

ir::ElementType random_element(Random& random) {
  // f32 and i64 mostly
  if (random.once_in(2)) return random.once_in(2) ? ir::ElementType::kF32 : ir::ElementType::kI64;
  return static_cast<ir::ElementType>(1 + random.below(26));
}

ir::Dim random_dim(Random& random) {
  return random.once_in(6) ? ir::Dim(random.below(kMaxDim)) : ir::Dim(random.below(6));
}

ir::Shape random_shape(Random& random) {
  ir::Shape shape(static_cast<std::size_t>(random.below(6)));
  for (ir::Dim& dim : shape) dim = random_dim(random);
  return shape;
}

void mutate_shape(ir::Shape& shape, Random& random) {
  if (shape.empty() || (random.once_in(6) && shape.size() < 7)) {
    shape.insert(shape.begin() + random.below(static_cast<std::int64_t>(shape.size()) + 1),
                 random_dim(random));
  } else if (random.once_in(6)) {
    shape.erase(shape.begin() + random.below(static_cast<std::int64_t>(shape.size())));
  } else {
    ir::Dim& dim =
        shape[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(shape.size())))];
    const bool is_step = dim.is_known() && dim.value() < kMaxDim && random.once_in(2);
    dim = is_step ? ir::Dim(std::max<std::int64_t>(0, dim.value() + (random.once_in(2) ? 1 : -1)))
                  : random_dim(random);
  }
}

bool is_small(const ir::Type& type) {
  return ir::run_bytes(type).value_or(kMaxBytes + 1) <= kMaxBytes;
}

/// Another element type, shape or layout. Constants get new contents.
void mutate_operand(ir::Operand& operand, Random& random) {
  ir::Type type = operand.constant ? operand.constant->type : operand.type;
  if (!type.is_tensor()) type = ir::Type::tensor(random_element(random), random_shape(random));
  if (operand.constant && random.once_in(2)) {
    if (is_small(type)) operand.constant = random_constant(type, random);
    return;
  }
  if (random.once_in(5)) {
    type = type.with_element(random_element(random));
  } else if (random.once_in(12)) {
    const bool is_blocked = type.layout() == ir::Layout::kC16;
    type = type.with_layout(is_blocked ? ir::Layout::kRowMajor : ir::Layout::kC16);
  } else {
    ir::Shape shape = type.shape() != nullptr ? *type.shape() : random_shape(random);
    mutate_shape(shape, random);
    type = type.with_shape(std::move(shape));
  }
  if (!is_small(type)) return;
  operand.type = type;
  if (operand.constant) operand.constant = random_constant(type, random);
}

/// A constant becomes an input, or an input a constant.
void turn_operand(ir::Subgraph& main, ir::OperandId id, Random& random) {
  ir::Operand& operand = main.operand(id);
  const auto input = std::ranges::find(main.inputs, id);
  if (operand.constant) {
    operand.type = operand.constant->type;
    operand.constant.reset();
    main.inputs.push_back(id);
  } else if (input != main.inputs.end() && operand.type.is_static() && is_small(operand.type)) {
    main.inputs.erase(input);
    operand.constant = random_constant(operand.type, random);
  }
}

ir::OperandId add_input(ir::Subgraph& main, const ir::Type& type) {
  ir::Operand operand;
  operand.type = type;
  const ir::OperandId id = main.add_operand(std::move(operand));
  main.inputs.push_back(id);
  return id;
}

ir::OperandId add_result(ir::Subgraph& main) { return main.add_operand(ir::Operand()); }

void mutate_inputs(ir::Subgraph& main, ir::Operation& operation, Random& random) {
  auto& inputs = operation.inputs;
  if (inputs.empty() || (random.once_in(4) && inputs.size() < 10)) {
    const ir::OperandId made =
        add_input(main, ir::Type::tensor(random_element(random), random_shape(random)));
    inputs.insert(inputs.begin() + random.below(static_cast<std::int64_t>(inputs.size()) + 1),
                  made);
    return;
  }
  const auto at = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(inputs.size())));
  switch (random.below(4)) {
    case 0: inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(at)); break;
    case 1: inputs[at] = ir::OperandId(); break;
    case 2: std::swap(inputs[at], inputs.front()); break;
    default: inputs[at] = random.pick(inputs); break;
  }
}

void mutate_outputs(ir::Subgraph& main, ir::Operation& operation, Random& random) {
  auto& outputs = operation.outputs;
  main.outputs.clear();  // all results are
  if (outputs.empty() || (random.once_in(2) && outputs.size() < 5)) {
    outputs.push_back(add_result(main));
  } else if (outputs.size() == 1 && !random.once_in(20)) {
    return;  // nearly all operators need it
  } else if (random.once_in(2)) {
    outputs.pop_back();
  } else {
    outputs[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(outputs.size())))] =
        ir::OperandId();
  }
}

/// The graph declares a wrong type for a result.
void declare_output(ir::Subgraph& main, const ir::Operation& operation, Random& random) {
  if (operation.outputs.empty()) return;
  const ir::OperandId id = random.pick(operation.outputs);
  if (!id.is_valid()) return;
  ir::Type type = main.operand(id).type;
  const ir::OperandId like = operation.input(0);
  if (!type.is_static() && like.is_valid()) type = main.operand(like).type;
  if (random.once_in(3)) type = ir::Type();
  if (type.is_tensor() && type.shape() != nullptr) {
    ir::Shape shape = *type.shape();
    mutate_shape(shape, random);
    type = type.with_shape(std::move(shape));
    if (!is_small(type)) return;
  }
  main.operand(id).type = type;
}

void mutate_attributes(ir::Operation& operation, Random& random) {
  const auto count = std::distance(operation.attributes.begin(), operation.attributes.end());
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  if (count == 0 || random.once_in(4)) {
    const bool is_own = schema != nullptr && !schema->attributes.empty() && !random.once_in(3);
    const std::string name =
        is_own ? std::string(random.pick(schema->attributes).name) : random_attribute_name(random);
    operation.attributes.set(name, random_attribute(name, random));
    return;
  }
  const auto at = std::next(operation.attributes.begin(), random.below(count));
  const std::string name = at->first;
  ir::Attribute value = at->second;
  if (random.once_in(6)) return operation.attributes.erase(name);
  mutate_attribute(value, random);
  operation.attributes.set(name, std::move(value));
}

void mutate_kind(ir::Operation& operation, Random& random) {
  const auto all = ops::all_schemas();
  const ops::OpSchema& schema =
      *all[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(all.size())))];
  operation.domain = schema.domain;
  operation.kind = schema.name;
  operation.version = random.once_in(3) ? random.pick(schema.versions) : schema.newest_version();
}

void mutate_version(ir::Operation& operation, Random& random) {
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  if (schema != nullptr) operation.version = random.pick(schema->versions);
}

ir::OperandId random_read(const ir::Operation& operation, Random& random) {
  return operation.inputs.empty() ? ir::OperandId() : random.pick(operation.inputs);
}

bool is_read_only(const ir::Subgraph& main, ir::OperandId id) {
  return main.is_constant(id) || std::ranges::find(main.inputs, id) != main.inputs.end();
}

ir::ElementType random_of(const ops::TypeSet& types, Random& random) {
  if (types.contains(ir::ElementType::kF32) && !random.once_in(4)) return ir::ElementType::kF32;
  if (types.contains(ir::ElementType::kI64) && !random.once_in(4)) return ir::ElementType::kI64;
  for (int i = 0; i < 100; ++i) {
    const ir::ElementType element = random_element(random);
    if (types.contains(element)) return element;
  }
  return ir::ElementType::kF32;
}

}  // namespace

void mutate(ir::Graph& graph, Random& random) {
  ir::Subgraph& main = graph.main();
  if (main.order().empty()) {
    graph = random_operation(random);
    return;
  }
  const auto order = main.order();
  const ir::OperationId at =
      order[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(order.size())))];
  ir::Operation operation = main.operation(at);
  const ir::OperandId read = random_read(operation, random);
  switch (random.below(16)) {
    case 0: mutate_version(operation, random); break;
    case 1: mutate_inputs(main, operation, random); break;
    case 2: mutate_outputs(main, operation, random); break;
    case 3: declare_output(main, operation, random); break;
    case 4:
      if (random.once_in(3)) mutate_kind(operation, random);
      break;
    case 5:
      if (read.is_valid()) turn_operand(main, read, random);
      break;
    case 6:
    case 7:
    case 8:
    case 9:
    case 10:
      if (read.is_valid() && is_read_only(main, read)) mutate_operand(main.operand(read), random);
      break;
    default: mutate_attributes(operation, random); break;
  }
  main.operation(at) = std::move(operation);
}

ir::Graph random_operation(Random& random) {
  ir::Graph graph;
  ir::Subgraph& main = graph.main();
  ir::Operation operation;
  mutate_kind(operation, random);
  const ops::OpSchema& schema = *ops::find_schema(operation.domain, operation.kind);
  const ir::Shape shape = random_shape(random);
  for (const ops::OperandSpec& spec : schema.inputs) {
    if (spec.is_optional && random.once_in(3)) break;
    const bool is_like = !random.once_in(3) && !spec.is_shape_value;
    const ir::Type type =
        ir::Type::tensor(random_of(spec.types, random), is_like ? shape : random_shape(random));
    if (!is_small(type)) continue;
    const bool is_constant = random.once_in(2);
    operation.inputs.push_back(is_constant ? main.add_constant("", random_constant(type, random))
                                           : add_input(main, type));
  }
  for (const ops::OperandSpec& spec : schema.outputs) {
    if (spec.is_optional && random.once_in(2)) break;
    operation.outputs.push_back(add_result(main));
  }
  for (const ops::AttributeSpec& spec : schema.attributes) {
    if (!spec.is_required && !random.once_in(3)) continue;
    operation.attributes.set(std::string(spec.name),
                             random_attribute(std::string(spec.name), random));
  }
  operation.name = "node";
  main.add_operation(std::move(operation));
  return graph;
}

}  // namespace sluice::fuzz
