// SequenceMap: runs its body for each item of the input sequences.
#include "exec/context/step.h"
#include "ops/control/structure.h"

namespace sluice::exec {
namespace {

using SequencePtr = std::shared_ptr<Sequence>;

/// The sequences among the inputs; null where an input is the same for all items.
Result<std::vector<SequencePtr>> read_sequences(StepCall& call) {
  std::vector<SequencePtr> sequences;
  for (std::size_t i = 0; i < ops::num_own_inputs(call.operation()); ++i) {
    const bool is_sequence = i == 0 || !call.is_tensor(i);
    sequences.push_back(is_sequence ? SLUICE_TRY(call.sequence(i)) : nullptr);
    if (!is_sequence || sequences[i]->items.size() == sequences[0]->items.size()) continue;
    return StepCall::error("input {} has {} items, input 0 has {}", i, sequences[i]->items.size(),
                           sequences[0]->items.size());
  }
  return sequences;
}

Status add_result(Frame& body, std::size_t output, Sequence& results) {
  FrameOutput& from = body.outputs[output];
  auto item = std::move(from.value.tensor);
  if (body.code.is_tensor(body.code.subgraph->outputs[output])) {
    item = SLUICE_TRY(copy_tensor(from.view));
  }
  if (item == nullptr) return StepCall::error("the body's result {} is not a tensor", output);
  results.element = item->view.element;
  results.items.push_back(std::move(item));
  return ok_status();
}

}  // namespace

Status run_sequence_map(StepCall& call) {
  const auto sequences = SLUICE_TRY(read_sequences(call));
  Frame& body = call.callee("body");
  const std::size_t num_results = call.operation().outputs.size();
  std::vector<SequencePtr> results;
  for (std::size_t i = 0; i < num_results; ++i) results.push_back(std::make_shared<Sequence>());
  for (std::size_t at = 0; at < sequences[0]->items.size(); ++at) {
    for (std::size_t i = 0; i < sequences.size(); ++i) {
      if (sequences[i] == nullptr) {
        SLUICE_TRY(call.pass(i, body, i));
      } else {
        SLUICE_TRY(pass_value(body, i, Value{sequences[i]->items[at], nullptr}));
      }
    }
    SLUICE_TRY(call.pass_captures(body));
    SLUICE_TRY(call.run(body).with_context(fmt::format("item {}", at)));
    for (std::size_t i = 0; i < num_results; ++i) {
      SLUICE_TRY(add_result(body, i, *results[i]));
    }
  }
  for (std::size_t i = 0; i < num_results; ++i) {
    SLUICE_TRY(call.give(i, Value{nullptr, std::move(results[i])}));
  }
  return ok_status();
}

}  // namespace sluice::exec
