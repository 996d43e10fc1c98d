// Runs of models with states: in a context of their own while states lie on a device.
#include <algorithm>
#include <utility>

#include "calls/errors.h"
#include "model.h"

namespace sluice::python {

void NativeModel::keep_states(sluice_context* context, const KeptContext& states) const {
  std::vector<const char*> inputs, outputs;
  for (const auto& [input, output] : states.pairs_) {
    inputs.push_back(name_of(inputs_, input));
    outputs.push_back(name_of(outputs_, output));
  }
  check(sluice_context_keep_states(context, inputs.data(), outputs.data(), inputs.size()));
}

bool NativeModel::take_kept(const std::shared_ptr<KeptContext>& states) {
  if (states->context_ != nullptr) return true;
  if (!may_keep_) return false;
  states->context_ = take_context();
  states->is_changed_.assign(states->pairs_.size(), true);
  states->outputs_.clear();
  for (const auto& pair : states->pairs_) states->outputs_.push_back(outputs_[pair.second].name);
  const std::lock_guard own(mutex_);
  std::erase_if(kept_, [](const auto& weak) { return weak.expired(); });
  kept_.push_back(states);
  return true;
}

void NativeModel::give_back_unkept(KeptContext& states) {
  if (sluice_context_kept_bytes(states.context_.get()) > 0) return;
  may_keep_ = false;
  ContextPointer context = std::move(states.context_);
  for (const auto& pair : states.pairs_) {
    check(sluice_context_bind_output(context.get(), name_of(outputs_, pair.second), nullptr, 0));
  }
  return_context(std::move(context));
}

std::vector<OutputTensor> NativeModel::execute_kept(const std::shared_ptr<KeptContext>& states,
                                                    const std::vector<InputTensor>& inputs,
                                                    const Destination& destination,
                                                    Cancellation* cancellation) {
  std::vector<OutputTensor> outputs(outputs_.size());
  const NativeCall call;
  const nb::gil_scoped_release released;
  const std::lock_guard lock(states->mutex_);
  if (!take_kept(states)) return execute_released(inputs, destination, 0, cancellation);
  sluice_context* const context = states->context_.get();
  // Memory of this call does not stay bound, whatever happens.
  const auto unbind = [&](const void*) {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (states->has_output(i)) continue;
      sluice_context_bind_output(context, name_of(outputs_, i), nullptr, 0);
    }
  };
  {
    const std::unique_ptr<const void, decltype(unbind)> unbinder(context, unbind);
    const Cancellation::Run run(cancellation, context);
    run_in(context, inputs, destination, 0, outputs, states.get());
  }
  give_back_unkept(*states);
  return outputs;
}

nb::list NativeModel::run_kept(KeptStates& kept, const nb::list& inputs,
                               const std::vector<bool>& wanted, const nb::object& out,
                               Cancellation* cancellation) {
  const auto is_there = [&](const auto& pair) {
    return pair.first < inputs_.size() && pair.second < outputs_.size();
  };
  const std::shared_ptr<KeptContext>& states = kept.context;
  if (!std::ranges::all_of(states->pairs_, is_there)) {
    throw Failure(Code::kInvalidArgument, "the model has no such states");
  }
  use([](sluice_model*) {});  // a closed model runs no more
  const std::vector<InputTensor> tensors = read_inputs(inputs);
  const Destination destination = read_destination(wanted, out);
  kept.arrays.clear();
  for (const auto& pair : states->pairs_) kept.arrays.push_back(destination.memory[pair.second]);
  return list_outputs(destination, execute_kept(states, tensors, destination, cancellation));
}

std::vector<std::shared_ptr<KeptContext>> NativeModel::kept_contexts() {
  std::vector<std::shared_ptr<KeptContext>> living;
  const std::lock_guard lock(mutex_);
  for (const auto& weak : kept_) {
    if (auto states = weak.lock()) living.push_back(std::move(states));
  }
  return living;
}

}  // namespace sluice::python
