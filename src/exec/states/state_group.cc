#include "exec/states/state_group.h"

#include <algorithm>

#include "exec/subgraph_code.h"

namespace sluice::exec {
namespace {

/// The places of an input and an output of the main subgraph in a plan.
class StatePlaces {
 public:
  StatePlaces(const SubgraphCode& code, const RangePlan& plan, StatePair pair)
      : plan_(plan),
        input_(code.numbers.input(pair.input)),
        output_(code.numbers.output(pair.output)) {}

  bool has(ir::OperandId id) const {
    if (!id.is_valid()) return false;
    const plan::Place& place = plan_.placement->places[id.index()];
    return place.kind == plan::Place::Kind::kBinding &&
           (place.binding == input_ || place.binding == output_);
  }
  bool has_any(const std::vector<ir::OperandId>& ids) const {
    return std::ranges::any_of(ids, [&](ir::OperandId id) { return has(id); });
  }
  bool are_used_by(const ir::Operation& operation) const {
    return has_any(operation.reads()) || has_any(operation.outputs);
  }

 private:
  const RangePlan& plan_;
  const std::int32_t input_, output_;
};

}  // namespace

std::optional<std::size_t> group_of_state(const ModelState& model, const SubgraphCode& code,
                                          const RangePlan& plan, StatePair pair) {
  const InPlaceOutput wanted = {pair.output, pair.input};
  const bool is_in_place =
      std::ranges::find(plan.in_place_outputs, wanted) != plan.in_place_outputs.end();
  // The host reads the elements of an input that shapes depend on, and operands of its own steps.
  if (!is_in_place || plan.range.has_executor_end || code.is_shape_input[pair.input]) {
    return std::nullopt;
  }
  const auto bytes = ir::run_bytes(plan.facts.type_of(code.subgraph->inputs[pair.input]));
  if (bytes.value_or(0) == 0) return std::nullopt;
  const StatePlaces places(code, plan, pair);
  for (const plan::OutputCopy& copy : plan.placement->copies) {
    if (places.has(copy.source)) return std::nullopt;  // the host copies it to another output
  }
  std::optional<std::size_t> only;
  for (std::size_t at = plan.range.begin; at < plan.range.end; ++at) {
    const bool has_kernel = plan.kernels[at - plan.range.begin] != nullptr;
    if (!has_kernel || !places.are_used_by(code.operation_at(at))) continue;
    const std::size_t group = model.segments.group_at(model.executable, code.id, at);
    if (only && *only != group) return std::nullopt;
    only = group;
  }
  return only && !model.segments.is_on_host(*only) ? only : std::nullopt;
}

}  // namespace sluice::exec
