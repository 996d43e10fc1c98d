#include "runtime/data/program.h"

#include <utility>

namespace sluice::runtime {

std::vector<ProgramTensor> list_tensors(const package::Executable& executable) {
  std::vector<ProgramTensor> tensors;
  const ir::Subgraph& main = executable.graph.main();
  for (std::size_t i = 0; i < main.num_operands(); ++i) {
    const ir::OperandId id(i);
    const ir::Constant* constant = main.find_constant(id);
    if (constant == nullptr || main.operand(id).name.empty()) continue;
    tensors.push_back({main.operand(id).name, constant->type, TensorRole::kConstant});
  }
  const package::Signature signature = package::signature_of(executable.graph);
  for (const auto& spec : signature.inputs) {
    tensors.push_back({spec.name, spec.type, TensorRole::kInput});
  }
  for (const auto& spec : signature.outputs) {
    tensors.push_back({spec.name, spec.type, TensorRole::kOutput});
  }
  return tensors;
}

BindPredicate bind_all() {
  return [](const ProgramTensor&) { return true; };
}

BindPredicate bind_none() {
  return [](const ProgramTensor&) { return false; };
}

BindPredicate bind_only_constants() {
  return [](const ProgramTensor& tensor) { return tensor.role == TensorRole::kConstant; };
}

BindPredicate bind_only_main() {
  return [](const ProgramTensor& tensor) { return tensor.program() == Program::kMain; };
}

BindPredicate bind_names(std::set<std::string> names) {
  return [names = std::move(names)](const ProgramTensor& tensor) {
    return names.count(tensor.name) > 0;
  };
}

}  // namespace sluice::runtime
