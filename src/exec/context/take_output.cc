#include <utility>

#include "exec/context/context_state.h"

namespace sluice::exec {

// An output of the main frame lies in the buffer of its own, strings in `encoded`. Runs write new
// addresses to the bindings, so that a buffer may leave the context between two runs.
Result<Tensor> Context::take_output(std::size_t index) {
  if (index >= state_->outputs.size()) {
    return invalid_argument("output {} does not exist; the model has {}", index,
                            state_->outputs.size());
  }
  const std::string& name = state_->model->signature.outputs[index].name;
  BoundOutput& output = state_->outputs[index];
  if (output.bound != nullptr) {
    return make_error(Code::kFailedPrecondition,
                      "output \"{}\" lies in memory that the caller bound", name);
  }
  if (output.view.element == ir::ElementType::kUndefined) {
    return make_error(Code::kFailedPrecondition,
                      "output \"{}\" has no tensor: the context has not run, or it was taken",
                      name);
  }
  FrameOutput& written = state_->frame(ir::SubgraphId(std::size_t{0})).outputs[index];
  const bool is_text = output.view.element == ir::ElementType::kString;
  AlignedBuffer& buffer = is_text ? output.encoded : written.own;
  if (buffer.data() != output.view.data) {
    return internal_error("output \"{}\" does not lie in its buffer", name);
  }
  auto memory = std::make_shared<AlignedBuffer>(std::exchange(buffer, AlignedBuffer()));
  memory->end_charge();
  written.target = nullptr;
  written.view = {};
  return Tensor{std::exchange(output.view, terms::TensorView{}), std::move(memory)};
}

}  // namespace sluice::exec
