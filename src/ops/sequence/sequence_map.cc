// SequenceMap: a subgraph for each item of sequences.
#include "ops/control/structure.h"
#include "ops/control/types.h"
#include "ops/families.h"

namespace sluice::ops {
namespace {

/// The type of one item of input `i`; for an empty sequence, the type that the body declares.
ir::Type item_of(InferenceContext& context, std::size_t i) {
  const ir::Type& type = context.input(i);
  if (type.kind() != ir::Type::Kind::kSequence) return type;
  if (type.item().is_tensor()) return with_own_dims(context, type.item());
  const ir::Subgraph& body =
      context.graph()->subgraph(*context.attributes().find<ir::SubgraphId>("body"));
  return body.operand(body.inputs[i]).type;
}

Status infer_sequence_map(InferenceContext& context) {
  if (context.graph() == nullptr) return context.error("its body cannot be inferred here");
  SLUICE_TRY(check_structure(*context.graph(), context.operation()));
  std::vector<ir::Type> inputs;
  for (std::size_t i = 0; i < num_own_inputs(context.operation()); ++i) {
    const ir::Type& type = context.input(i);
    if (i == 0 && type.kind() != ir::Type::Kind::kSequence) {
      return context.error("input 0 must be a sequence, not {}", type.to_string());
    }
    inputs.push_back(item_of(context, i));
  }
  add_captures(context, inputs);
  const auto outputs = SLUICE_TRY(context.infer_subgraph("body", inputs));
  for (std::size_t i = 0; i < context.num_outputs(); ++i) {
    context.set_output(i, ir::Type::sequence(with_own_dims(context, outputs[i])));
  }
  return ok_status();
}

}  // namespace

std::vector<OpSchema> sequence_map_ops() {
  return {{.name = "SequenceMap",
           .versions = {17},
           .doc = "runs a subgraph for each item of sequences",
           .inputs = {{.name = "input_sequence", .types = kAllTensors, .takes_any_type = true},
                      {.name = "additional_inputs",
                       .types = kAllTensors,
                       .is_optional = true,
                       .is_variadic = true,
                       .takes_any_type = true}},
           .outputs = {{.name = "out_sequence",
                        .types = kAllTensors,
                        .is_optional = true,
                        .is_variadic = true,
                        .takes_any_type = true}},
           .attributes = {{.name = "body", .default_value = {}, .is_required = true},
                          {.name = "captures", .default_value = std::int64_t{0}}},
           .infer = infer_sequence_map,
           .traits = kControlFlow}};
}

}  // namespace sluice::ops
