#include "package/executable.h"

#include <algorithm>
#include <utility>

#include "ir/fixed_inputs.h"
#include "package/header.h"

namespace sluice::package {

Status Executable::verify(const Bytes& data, std::string_view what) const {
  const auto expected = checksums.find(data.data());
  if (expected == checksums.end()) return ok_status();
  if (checksum_of(data.view()) == expected->second) return ok_status();
  return make_error(Code::kDataLoss, "{} is damaged: its checksum does not match", what);
}

const ir::KernelCode* Executable::find_code(ir::SubgraphId subgraph, std::size_t operation,
                                            std::string_view backend) const {
  const auto place = [](const OperationCode& entry) {
    return std::pair<std::size_t, std::size_t>(entry.subgraph, entry.operation);
  };
  const std::pair<std::size_t, std::size_t> wanted(subgraph.index(), operation);
  const auto found = std::ranges::lower_bound(code, wanted, {}, place);
  const bool fits = found != code.end() && place(*found) == wanted && found->backend == backend;
  return fits ? &found->code : nullptr;
}

namespace {

std::vector<terms::TensorSpec> specs_of(const ir::Subgraph& subgraph,
                                        const std::vector<ir::OperandId>& operands) {
  std::vector<terms::TensorSpec> specs;
  for (const ir::OperandId id : operands) {
    const ir::Operand& operand = subgraph.operand(id);
    const ir::Shape* shape = operand.type.is_tensor() ? operand.type.shape() : nullptr;
    const bool has_batch = shape != nullptr && !shape->empty() && !shape->front().is_known();
    specs.push_back({operand.name, operand.type, has_batch ? 0 : -1});
  }
  return specs;
}

/// Whether the input may have the value: not in a damaged package.
bool takes(const ir::Type& type, const ir::Constant& value) {
  const ir::Type& own = value.type;
  if (ir::is_left_out(value) || !type.is_tensor() || !own.is_static() ||
      type.element() != own.element() || own.element() == ir::ElementType::kString) {
    return false;
  }
  const auto fits = [](const ir::Dim& dim, const ir::Dim& size) {
    return !dim.is_known() || dim == size;
  };
  return type.shape() == nullptr || std::ranges::equal(*type.shape(), *own.shape(), fits);
}

void add_defaults(const ir::Subgraph& main, std::vector<terms::TensorSpec>& inputs) {
  for (const ir::OperationId id : main.order()) {
    const ir::Operation& operation = main.operation(id);
    if (!operation.is("InputOrDefault", "sluice")) continue;
    const auto place = std::ranges::find(main.inputs, operation.input(0));
    const ir::Constant* constant = main.find_constant(operation.input(1));
    if (place == main.inputs.end() || constant == nullptr) continue;
    terms::TensorSpec& spec = inputs[static_cast<std::size_t>(place - main.inputs.begin())];
    if (!takes(spec.type, *constant)) continue;
    spec.has_default = true;
    spec.batch_axis = -1;  // a default has rows of its own
    spec.default_value = std::make_shared<const ir::Constant>(*constant);
  }
}

}  // namespace

terms::Signature signature_of(const ir::Graph& graph) {
  const ir::Subgraph& main = graph.main();
  terms::Signature signature = {specs_of(main, main.inputs), specs_of(main, main.outputs)};
  add_defaults(main, signature.inputs);
  signature.has_fixed_inputs = graph.metadata.contains(ir::kFixedInputsFact);
  return signature;
}

}  // namespace sluice::package
