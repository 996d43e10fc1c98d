#include "package/executable.h"

#include "package/header.h"

namespace sluice::package {

Status Executable::verify(const Bytes& data, std::string_view what) const {
  const auto expected = checksums.find(data.data());
  if (expected == checksums.end()) return ok_status();
  if (checksum_of(data.view()) == expected->second) return ok_status();
  return make_error(Code::kDataLoss, "{} is damaged: its checksum does not match", what);
}

namespace {

std::vector<TensorSpec> specs_of(const ir::Subgraph& subgraph,
                                 const std::vector<ir::OperandId>& operands) {
  std::vector<TensorSpec> specs;
  for (const ir::OperandId id : operands) {
    const ir::Operand& operand = subgraph.operand(id);
    const ir::Shape* shape = operand.type.is_tensor() ? operand.type.shape() : nullptr;
    const bool has_batch = shape != nullptr && !shape->empty() && !shape->front().is_known();
    specs.push_back({operand.name, operand.type, has_batch ? 0 : -1});
  }
  return specs;
}

}  // namespace

Signature signature_of(const ir::Graph& graph) {
  const ir::Subgraph& main = graph.main();
  return {specs_of(main, main.inputs), specs_of(main, main.outputs)};
}

}  // namespace sluice::package
