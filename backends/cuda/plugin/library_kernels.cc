// Operations that a library computes: the call, then a generated kernel for what is left.

#include "plugin/backend.h"
#include "plugin/libraries/tail.h"

namespace sluice::cuda {
namespace {

/// Whether a package has another text for the kernel than the generated one.
bool is_edited(const sluice_kernel_code* code, const std::string& generated) {
  return code != nullptr && code->source.size_bytes > 0 && code->key == key_of(generated) &&
         plugin::view(code->source) != generated;
}

}  // namespace

bool Backend::use_library(std::int32_t device, const sluice_op& op, const sluice_kernel_code* code,
                          Kernel& kernel) {
  if (is_edited(code, kernel.source.text)) return false;
  int num_steps = 0;
  std::unique_ptr<const LibraryCall> call;
  Source tail;
  std::shared_ptr<const LoadedKernel> rest;
  Status status = libraries_.plan(device, op, &num_steps, &call);
  if (status.is_ok()) status = write_tail(op, num_steps, &tail);
  if (status.is_ok() && tail.grid[0] > 0) status = load(device, tail.text, nullptr, &rest);
  if (!status.is_ok()) return false;
  kernel.library = std::move(call);
  kernel.source = std::move(tail);
  kernel.code = std::move(rest);
  kernel.num_blocks = kernel.source.grid[0];
  return true;
}

Status Backend::call_library(Stream& stream, const plugin::detail::Command& command,
                             std::span<void* const> bindings) const {
  const auto& kernel = static_cast<const Kernel&>(*command.kernel);
  std::vector<void*> inputs;
  for (const sluice_argument& input : command.inputs) {
    inputs.push_back(plugin::detail::address_of(input, bindings));
  }
  const Group& group = *stream.group;
  LibraryRun run;
  run.stream = stream.handle;
  run.scratch = &stream.scratch;
  if (group.context != nullptr) run.multiprocessors = static_cast<int>(group.cores.size());
  run.inputs = inputs;
  run.output = plugin::detail::address_of(command.outputs[0], bindings);
  Status status = kernel.library->run(run);
  if (!status.is_ok()) {
    status.text += "; SLUICE_CUDA_LIBRARIES=none computes without it";
  }
  return plugin::at_node(*kernel.op, std::move(status));
}

}  // namespace sluice::cuda
