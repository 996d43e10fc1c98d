#include "ops/elementwise/chain.h"

#include <string>

#include "ops/elementwise/translator.h"

namespace sluice::cpu {
namespace {

using plugin::Attributes;

ChainSource operand_source(const sluice_operand& operand, int run_input) {
  const bool known = operand.is_constant != 0 && operand.tensor.data != nullptr;
  return {known ? ChainSource::From::kConstant : ChainSource::From::kRunInput, run_input,
          &operand.tensor};
}

bool is_elementwise(const sluice_op& op) { return std::string_view(op.kind) == "Elementwise"; }

/// The kernels that carry a body hand it floats and store its floats.
Status check_carried(const sluice_op& op, const Chain& chain) {
  bool is_f32 = chain.result_type == plugin::kF32;
  for (const ChainSource& source : chain.sources) {
    is_f32 = is_f32 && source.tensor->element_type == plugin::kF32;
  }
  if (is_f32 || is_elementwise(op)) return plugin::ok();
  return plugin::unimplemented("a fused operand is not f32");
}

std::vector<ChainSource> body_sources(const sluice_op& op) {
  const sluice_body& body = *op.body;
  std::vector<ChainSource> sources;
  if (body.num_inputs > op.num_body_inputs) {
    sources.push_back({ChainSource::From::kResult, 0, &op.outputs[0].tensor});
  }
  for (int i = 0; i < op.num_body_inputs; ++i) {
    sources.push_back(operand_source(op.body_inputs[i], op.num_inputs + i));
  }
  for (int i = 0; i < body.num_constants; ++i) {
    sources.push_back({ChainSource::From::kConstant, 0, &body.constants[i]});
  }
  return sources;
}

}  // namespace

Status translate_body(const sluice_op& op, Chain* chain) {
  const sluice_body& body = *op.body;
  const std::vector<ChainSource> sources = body_sources(op);
  Translator translator(sources);
  std::vector<int> registers(sources.size());
  for (std::size_t i = 0; i < registers.size(); ++i) registers[i] = static_cast<int>(i);
  for (int i = 0; i < body.num_steps; ++i) {
    const sluice_body_step& step = body.steps[i];
    Node node{step.kind, Attributes(step), {}};
    for (int j = 0; j < step.num_inputs; ++j) {
      const int reg = step.inputs[j];
      node.inputs.push_back(reg < 0 ? kNoRegister : registers[static_cast<std::size_t>(reg)]);
    }
    int result = kNoRegister;
    if (Status status = translate_node(translator, node, &result); !status.is_ok()) return status;
    registers.push_back(result);
  }
  Status status = translator.finish(registers[static_cast<std::size_t>(body.result)], chain);
  return status.is_ok() ? check_carried(op, *chain) : status;
}

Status translate_operator(const sluice_op& op, Chain* chain) {
  std::vector<ChainSource> sources;
  Node node{op.kind, Attributes(op), {}};
  for (int i = 0; i < op.num_inputs; ++i) {
    sources.push_back(operand_source(op.inputs[i], i));
    node.inputs.push_back(plugin::is_absent(op.inputs[i].tensor) ? kNoRegister : i);
  }
  Translator translator(sources);
  int result = kNoRegister;
  if (Status status = translate_node(translator, node, &result); !status.is_ok()) return status;
  return translator.finish(result, chain);
}

}  // namespace sluice::cpu
