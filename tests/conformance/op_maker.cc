#include "conformance/op_maker.h"

namespace sluice::conformance {

namespace {

ir::OperandId add_operand(ir::Subgraph& subgraph, const ir::Type& type) {
  ir::Operand operand;
  operand.name = "t" + std::to_string(subgraph.num_operands());
  operand.type = type;
  return subgraph.add_operand(std::move(operand));
}

}  // namespace

ir::Type tensor_type(ir::ElementType element, std::vector<std::int64_t> dims) {
  return ir::Type::tensor(element, ir::Shape(dims.begin(), dims.end()));
}

OpMaker::OpMaker(std::string kind, int version, std::string domain) {
  operation_.kind = std::move(kind);
  operation_.version = version;
  operation_.domain = std::move(domain);
  operation_.name = "node";
}

OpMaker& OpMaker::name(std::string name) {
  operation_.name = std::move(name);
  return *this;
}

OpMaker& OpMaker::input(const ir::Type& type) {
  operation_.inputs.push_back(add_operand(graph_.main(), type));
  return *this;
}

OpMaker& OpMaker::constant(ir::Constant constant) {
  operation_.inputs.push_back(graph_.main().add_constant("c", std::move(constant)));
  return *this;
}

OpMaker& OpMaker::absent_input() {
  operation_.inputs.emplace_back();
  return *this;
}

OpMaker& OpMaker::output(const ir::Type& type) {
  operation_.outputs.push_back(add_operand(graph_.main(), type));
  return *this;
}

OpMaker& OpMaker::attribute(std::string name, ir::Attribute value) {
  operation_.attributes.set(std::move(name), std::move(value));
  return *this;
}

ir::Subgraph& OpMaker::body() {
  if (!operation_.body) {
    operation_.body = ir::Body{graph_.add_subgraph("body"), {}};
    ir::Subgraph& made = graph_.subgraph(operation_.body->subgraph);
    if (operation_.kind != "Elementwise") {
      made.inputs.push_back(add_operand(made, ir::Type()));
      registers_.push_back(made.inputs.back());
    }
  }
  return graph_.subgraph(operation_.body->subgraph);
}

OpMaker& OpMaker::body_input(const ir::Type& type) {
  ir::Subgraph& subgraph = body();
  operation_.body->inputs.push_back(add_operand(graph_.main(), type));
  subgraph.inputs.push_back(add_operand(subgraph, type));
  registers_.push_back(subgraph.inputs.back());
  return *this;
}

OpMaker& OpMaker::body_constant(ir::Constant constant) {
  registers_.push_back(body().add_constant("c", std::move(constant)));
  return *this;
}

OpMaker& OpMaker::step(std::string kind, int version, const std::vector<int>& registers) {
  ir::Subgraph& subgraph = body();
  ir::Operation step;
  step.kind = std::move(kind);
  step.version = version;
  for (const int index : registers) {
    step.inputs.push_back(registers_[static_cast<std::size_t>(index)]);
  }
  step.outputs = {add_operand(subgraph, ir::Type())};
  registers_.push_back(step.outputs[0]);
  subgraph.outputs = step.outputs;
  subgraph.add_operation(std::move(step));
  return *this;
}

OpMaker& OpMaker::packed(std::size_t input, std::span<const std::byte> bytes) {
  packed_.resize(std::max(packed_.size(), input + 1));
  packed_[input] = bytes;
  return *this;
}

Result<backend::Op> OpMaker::make() const {
  return backend::Op::create({graph_, graph_.main(), operation_, nullptr, packed_});
}

}  // namespace sluice::conformance
