#include "compile/tune/tunable.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backend/extensions/variants.h"
#include "compile/profile/operation_key.h"

namespace sluice::compile {
namespace {

bool has_known_shapes(const sluice_operand* operands, std::int32_t count) {
  return std::all_of(operands, operands + count, [](const sluice_operand& operand) {
    const sluice_tensor& tensor = operand.tensor;
    return std::all_of(tensor.dims, tensor.dims + tensor.rank,
                       [](std::int64_t dim) { return dim >= 0; });
  });
}

bool has_known_shapes(const sluice_op& op) {
  return has_known_shapes(op.inputs, op.num_inputs) &&
         has_known_shapes(op.outputs, op.num_outputs) &&
         has_known_shapes(op.body_inputs, op.num_body_inputs);
}

/// Kinds of the operation and its body, and the shapes of what it multiplies.
std::string text_of(const sluice_op& op) {
  std::string text = *op.domain == '\0' ? "" : fmt::format("{}::", op.domain);
  text += op.kind;
  for (std::int32_t i = 0; op.body != nullptr && i < op.body->num_steps; ++i) {
    text += fmt::format("+{}", op.body->steps[i].kind);
  }
  for (std::int32_t i = 0; i < std::min(op.num_inputs, 2); ++i) {
    const sluice_tensor& tensor = op.inputs[i].tensor;
    text += fmt::format(" [{}]", fmt::join(tensor.dims, tensor.dims + tensor.rank, ","));
  }
  return text;
}

/// The operation's current tactic, then the backend's default, then the other tactics.
std::vector<std::string> tactics_of(const ir::Operation& operation,
                                    std::vector<std::string> offered) {
  std::vector<std::string> tactics = {
      operation.attributes.get_or(backend::kVariantAttribute, std::string())};
  offered.insert(offered.begin(), "");
  for (std::string& tactic : offered) {
    if (std::ranges::find(tactics, tactic) == tactics.end()) tactics.push_back(std::move(tactic));
  }
  return tactics;
}

}  // namespace

Result<std::vector<TunableGroup>> find_tunable(const package::Executable& executable,
                                               const ir::Graph& graph, Backends backends,
                                               int num_cores) {
  std::vector<TunableGroup> groups;
  std::map<std::string, std::size_t> numbers;
  for (std::size_t s = 0; s < executable.backend_of.size(); ++s) {
    const ir::Subgraph& subgraph = graph.subgraph(ir::SubgraphId(s));
    const std::vector<std::int16_t>& backend_of = executable.backend_of[s];
    for (std::size_t position = 0; position < backend_of.size(); ++position) {
      if (backend_of[position] < 0) continue;
      const ir::Operation& operation = subgraph.operation(subgraph.order()[position]);
      const auto op = backend::Op::create({graph, subgraph, operation});
      // A tactic is measured for one shape, so an operation whose shape is unknown has none to
      // choose.
      if (!op.is_ok() || !has_known_shapes(op->get())) continue;
      // Operations with another tactic already form a group of their own.
      const std::string current =
          operation.attributes.get_or(backend::kVariantAttribute, std::string());
      // Equal keys mean equal kernels: the same backend, tactic, operator and shapes.
      const std::string key =
          fmt::format("{} {} {}", backend_of[position], current, key_of(op->get()));
      const auto [number, is_new] = numbers.emplace(key, groups.size());
      if (is_new) {
        const auto& backend = *backends[static_cast<std::size_t>(backend_of[position])];
        const int cores = std::min(num_cores, std::max(1, backend.devices()[0].num_cores));
        auto offered = SLUICE_TRY(backend::list_variants(backend, *op, cores));
        groups.push_back({text_of(op->get()), {}, tactics_of(operation, std::move(offered))});
      }
      groups[number->second].members.push_back({s, position});
    }
  }
  // Nothing to choose. Erased at the end, since `numbers` holds indices into the list until then.
  std::erase_if(groups, [](const TunableGroup& group) { return group.tactics.size() < 2; });
  return groups;
}

}  // namespace sluice::compile
