#include "session/program.h"

#include <algorithm>
#include <utility>

#include "exec/constants/named_constants.h"

namespace sluice::session {

std::vector<ProgramTensor> list_tensors(const package::Executable& executable) {
  std::vector<ProgramTensor> tensors;
  for (exec::NamedConstant& constant : exec::named_constants(executable.graph)) {
    // One of several that share a name could be bound to no one value.
    if (!constant.is_one_value) continue;
    tensors.push_back({std::move(constant.name), constant.value.type, TensorRole::kConstant});
  }
  const terms::Signature signature = package::signature_of(executable.graph);
  for (const auto& spec : signature.inputs) {
    tensors.push_back({spec.name, spec.type, TensorRole::kInput, spec.default_value});
  }
  for (const auto& spec : signature.outputs) {
    tensors.push_back({spec.name, spec.type, TensorRole::kOutput});
  }
  return tensors;
}

Result<std::vector<std::size_t>> first_segments(const package::Executable& executable) {
  const std::vector<package::SegmentSpec> segments = SLUICE_TRY(package::segments_of(executable));
  const ir::Subgraph& main = executable.graph.main();
  const auto reads = [](const ir::Operation& operation, ir::OperandId id) {
    const auto has = [&](const std::vector<ir::OperandId>& ids) {
      return std::ranges::find(ids, id) != ids.end();
    };
    return has(operation.inputs) || (operation.body && has(operation.body->inputs));
  };
  // An input that no operation reads stays with segment 0.
  std::vector<std::size_t> first(main.inputs.size(), 0);
  for (std::size_t input = 0; input < main.inputs.size(); ++input) {
    std::size_t segment = 0;
    for (std::size_t place = 0; place < main.order().size(); ++place) {
      // Segments are runs of the order, so the segment only moves forward with `place`.
      while (segment + 1 < segments.size() && segments[segment + 1].first_operation <= place) {
        ++segment;
      }
      if (!reads(main.operation(main.order()[place]), main.inputs[input])) continue;
      first[input] = segment;
      break;
    }
  }
  return first;
}

BindPredicate bind_all() {
  return [](const ProgramTensor&) { return true; };
}

}  // namespace sluice::session
