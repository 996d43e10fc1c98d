// Inconsistent operations are refused when a kernel is created or when it runs: no crash, no read
// outside a buffer (the sanitizer builds detect those).
//
// The kernels of `reference` and `cpu` must refuse every case themselves: no shape function runs
// before them here, so nothing but a kernel's own checks keeps it from the memory behind an output.
// Other plug-ins may rely on the shape functions, which run before every plan, to refuse
// inconsistent shapes and attributes. Errors in data, such as an index out of range, must be
// detected by every plug-in. Every error names the node.
#include <gmock/gmock.h>

#include "conformance/hostile_cases.h"
#include "ops/inference.h"

namespace sluice::conformance {

HostileMaker& HostileMaker::input(ir::ElementType element, std::vector<std::int64_t> dims,
                                  std::vector<double> values) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  if (values.empty()) values.assign(static_cast<std::size_t>(count), 1.0);
  const ir::Type type = tensor_type(element, dims);
  op_.input(type);
  inputs_.push_back(Tensor::of(element, std::move(dims), values));
  return *this;
}

namespace {

/// Facts of the inputs before planning: all types and elements.
ops::SubgraphFacts facts_of(const ir::Graph& graph, const ir::Operation& operation,
                            const std::vector<Tensor>& inputs) {
  ops::SubgraphFacts facts(graph.main().num_operands());
  std::size_t next = 0;
  for (const ir::OperandId id : operation.inputs) {
    if (!id.is_valid() || next >= inputs.size()) continue;
    const Tensor& tensor = inputs[next++];
    const ir::Constant contents = {tensor.type, Bytes::own(tensor.bytes)};
    ops::OperandFacts& known = facts[id.index()];
    known = {tensor.type, std::nullopt, ir::float_values(contents)};
    if (const auto integers = ir::integer_values(contents)) {
      known.values.emplace(integers->begin(), integers->end());
    }
  }
  return facts;
}

/// Whether the operation is what its outputs are declared as, as far as its shape function knows.
/// Fails: what a user is told when the model is imported or a plan is made.
Status pass_shape_function(const HostileCase& hostile) {
  ir::Graph graph = hostile.op.graph();
  ir::Operation operation = hostile.op.operation();
  const ops::OpSchema* schema = ops::find_schema(operation.domain, operation.kind);
  if (schema == nullptr) return unimplemented("no such operator");
  SLUICE_TRY(ops::normalize(*schema, graph.main(), operation));
  const ops::SubgraphFacts facts = facts_of(graph, operation, hostile.inputs);
  const auto operands = ops::input_facts(operation, facts);
  ops::InferenceContext context(operation, operands);
  SLUICE_TRY(ops::infer_operation(context));
  for (std::size_t i = 0; i < operation.outputs.size(); ++i) {
    if (!operation.outputs[i].is_valid() || schema->has(ops::kDataDependentShape)) continue;
    const ir::Type& declared = graph.main().operand(operation.outputs[i]).type;
    if (context.output(i).is_static() && context.output(i) != declared) {
      return invalid_argument("{}: output {} is {}, not {}", operation.describe(), i,
                              context.output(i).to_string(), declared.to_string());
    }
  }
  return ok_status();
}

class Hostile : public Conformance {
 protected:
  void expect_refused(const std::vector<HostileCase>& cases) {
    for (const HostileCase& hostile : cases) {
      const Status status = refusal(hostile);
      EXPECT_FALSE(status.is_ok()) << hostile.claim;
      if (status.is_ok()) continue;
      const std::string node = hostile.op.operation().describe();
      EXPECT_THAT(status.message(), ::testing::HasSubstr(node)) << hostile.claim;
      const bool has_kernel = status.code() != Code::kUnimplemented;
      if (has_kernel) {
        EXPECT_THAT(status.message(), ::testing::HasSubstr(hostile.says)) << hostile.claim;
      }
      EXPECT_EQ(status.message().find(node), status.message().rfind(node))
          << hostile.claim << ": " << status.message();
    }
  }

 private:
  Status refusal(const HostileCase& hostile) {
    const auto op = hostile.op.make();
    if (!op.is_ok()) return op.status();  // not even an operation
    const bool checks_itself = plugin->name() == "reference" || plugin->name() == "cpu";
    if (!checks_itself) SLUICE_TRY(pass_shape_function(hostile));
    return run_once(plugin, *op, hostile.inputs).status();
  }
};
SLUICE_INSTANTIATE_FOR_PLUGINS(Hostile);

TEST_P(Hostile, IndicesFromDataAreRefused) { expect_refused(hostile_indices()); }
TEST_P(Hostile, AttributesThatContradictTheOutputAreRefused) {
  expect_refused(hostile_attributes());
}
TEST_P(Hostile, ShapesThatDoNotFitAreRefused) { expect_refused(hostile_shapes()); }
TEST_P(Hostile, ImagesThatDoNotFitAreRefused) { expect_refused(hostile_images()); }
TEST_P(Hostile, NetworksThatDoNotFitAreRefused) { expect_refused(hostile_networks()); }

TEST_P(Hostile, DivisionOfMinimumByMinusOneDoesNotTrap) {
  const auto op = OpMaker("Div", 14)
                      .input(tensor_type(ir::ElementType::kI32, {1}))
                      .input(tensor_type(ir::ElementType::kI32, {1}))
                      .output(tensor_type(ir::ElementType::kI32, {1}))
                      .make();
  SLUICE_ASSERT_OK(op);
  SLUICE_REQUIRE_SUPPORT(*op);
  const std::vector<double> least = {-2147483648.0};
  const std::vector<double> minus_one = {-1};
  const std::vector<Tensor> inputs = {Tensor::of(ir::ElementType::kI32, {1}, least),
                                      Tensor::of(ir::ElementType::kI32, {1}, minus_one)};
  SLUICE_EXPECT_OK(run_once(plugin, *op, inputs));
}

}  // namespace
}  // namespace sluice::conformance
