#include "ops/control/infer.h"
#include "ops/control/structure.h"
#include "ops/control/types.h"

namespace sluice::ops {
namespace {

/// A scalar, or a vector of one where the body declares that.
ir::Type counter_type(const InferenceContext& context, std::size_t input, ir::ElementType element) {
  const auto id = *context.attributes().find<ir::SubgraphId>("body");
  const ir::Subgraph& body = context.graph()->subgraph(id);
  const ir::Type& declared = body.operand(body.inputs[input]).type;
  const bool is_vector =
      declared.is_tensor() && declared.shape() != nullptr && declared.shape()->size() == 1;
  return ir::Type::tensor(element, is_vector ? ir::Shape{1} : ir::Shape{});
}

ir::Type stacked(InferenceContext& context, const ir::Type& item, const ir::Dim& count) {
  if (!item.is_tensor() || item.shape() == nullptr) return ir::Type::tensor(item.element());
  ir::Shape shape = {count};
  for (const ir::Dim& dim : *item.shape()) {
    shape.push_back(dim.is_known() ? dim : context.unknown_dim());
  }
  return ir::Type::tensor(item.element(), std::move(shape));
}

}  // namespace

Status infer_loop(InferenceContext& context) {
  if (context.graph() == nullptr) return context.error("its body cannot be inferred here");
  SLUICE_TRY(check_structure(*context.graph(), context.operation()));
  const LoopOperands operands = loop_operands(*context.graph(), context.operation());
  std::vector<ir::Type> inputs = {counter_type(context, 0, ir::ElementType::kI64),
                                  counter_type(context, 1, ir::ElementType::kBool)};
  for (std::size_t i = 0; i < operands.num_carried; ++i) inputs.push_back(context.input(2 + i));
  add_captures(context, inputs);
  const auto outputs = SLUICE_TRY(infer_iterations(context, inputs, 2, operands.num_carried, 1));
  for (std::size_t i = 0; i < operands.num_carried; ++i) {
    context.set_output(i, join_types(context, context.input(2 + i), outputs[1 + i]));
  }
  for (std::size_t i = 0; i < operands.num_scan_outputs; ++i) {
    const std::size_t output = operands.num_carried + i;
    context.set_output(output, stacked(context, outputs[1 + output], context.unknown_dim()));
  }
  return ok_status();
}

}  // namespace sluice::ops
