#include "exec/context/device_ends.h"

#include <utility>

#include "backend/extensions/foreign_memory.h"
#include "backend/memory.h"

namespace sluice::exec {
namespace {

template <typename... Args>
Status not_on_device(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(Code::kFailedPrecondition,
                    "tensors in memory of a device: {}; give them in memory of the host",
                    fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace

Status check_device_ends(const ContextState& state, const DeviceName& device) {
  const std::unique_ptr<Frame>& main = state.frames.front();
  const Recording* recording = main == nullptr ? nullptr : main->static_recording.get();
  if (recording == nullptr || recording->output_views.empty()) {
    return not_on_device("the model decides shapes while it runs");
  }
  for (std::size_t i = 0; i < recording->lists->tasks.size(); ++i) {
    const TaskList& task = recording->lists->tasks[i];
    const backend::Group& group = *state.model->segments.groups[task.group];
    const std::string& name = group.backend().name();
    if (name != device.backend || group.device() != device.number) {
      return not_on_device(
          "they are on device {} of {}, but device {} of {} runs a part of the model",
          device.number, device.backend, group.device(), name);
    }
    if (recording->lists->mirrors[i] == nullptr) {
      return not_on_device("{} reads memory of the host", name);
    }
  }
  if (!recording->lists->captures.empty() || recording->lists->tasks.empty()) {
    return not_on_device("the host computes a part of the model");
  }
  const auto& copies = recording->plan->placement->copies;
  if (copies.empty()) return ok_status();
  return not_on_device("output \"{}\" is an input, a constant or another output",
                       state.model->signature.outputs[copies.front().output].name);
}

Status check_device_memory(const ContextState& state, std::string_view end, std::string_view name,
                           const void* data, std::int64_t size_bytes) {
  if (size_bytes == 0) return ok_status();
  // The host can copy no tensor of a device to where it is aligned.
  if (!backend::is_aligned(data)) {
    return invalid_argument("{} \"{}\": its memory on the device is not aligned to {} bytes", end,
                            name, backend::kAlignment);
  }
  return backend::check_foreign_memory(*state.model->segments.group_of(0), data, size_bytes)
      .with_context(fmt::format("{} \"{}\"", end, name));
}

Status check_bound_memory(const ContextState& state) {
  const terms::Signature& signature = state.model->signature;
  for (std::size_t i = 0; i < state.inputs.size(); ++i) {
    const BoundInput& input = state.inputs[i];
    if (!input.is_on_device) continue;
    SLUICE_TRY(check_device_memory(state, "input", signature.inputs[i].name, input.view.data,
                                   input.view.size_bytes));
  }
  for (std::size_t i = 0; i < state.outputs.size(); ++i) {
    const BoundOutput& output = state.outputs[i];
    if (!output.is_on_device) continue;
    SLUICE_TRY(check_device_memory(state, "output", signature.outputs[i].name, output.bound,
                                   output.capacity_bytes));
  }
  return ok_status();
}

}  // namespace sluice::exec
