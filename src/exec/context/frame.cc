#include "exec/context/frame.h"

namespace sluice::exec {

Frame::Frame(const SubgraphCode& code_to_run, void* texts) : code(code_to_run) {
  const ir::Subgraph& subgraph = *code.subgraph;
  inputs.resize(subgraph.inputs.size());
  outputs.resize(subgraph.outputs.size());
  bindings.resize(static_cast<std::size_t>(code.numbers.texts()) + 1);
  bindings.back() = texts;
  if (code.static_plan == nullptr) bindings.resize(bindings.size() + subgraph.num_operands());
  if (code.static_plan == nullptr) values.resize(subgraph.num_operands());
}

void Frame::set_input(std::size_t index, const TensorView& tensor) {
  inputs[index] = tensor;
  bindings[index] = tensor.data;
}

std::int64_t Frame::memory_bytes() const {
  std::int64_t total = arena.size_bytes();
  for (const FrameOutput& output : outputs) total += output.own.size_bytes();
  for (const auto& [number, buffer] : kept) total += buffer.size_bytes();
  return total;
}

}  // namespace sluice::exec
