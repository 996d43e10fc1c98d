// Operations that a library computes: the call, then a generated kernel for what is left.

#include <algorithm>
#include <utility>

#include "driver/content_key.h"
#include "plugin/backend.h"
#include "plugin/generate/tactics.h"
#include "plugin/libraries/tail.h"

namespace sluice::cuda {
namespace {

/// Whether a package has another text for the kernel than the generated one.
bool is_edited(const sluice_kernel_code* code, const std::string& generated) {
  return code != nullptr && code->source.size_bytes > 0 && code->key == key_of(generated) &&
         plugin::view(code->source) != generated;
}

// The shortest of several times counts: in the others something else ran.
constexpr int kTimings = 6;
constexpr int kRunsTimed = 4;

/// Memory for the operands of an operation, and two events.
class Run {
 public:
  Run(const DriverTable& driver, const sluice_op& op) : driver_(driver) {
    std::int64_t bytes = 0;
    const auto place = [&](std::span<const sluice_operand> operands,
                           std::vector<sluice_argument>* arguments) {
      for (const sluice_operand& operand : operands) {
        const bool is_absent = plugin::is_absent(operand.tensor);
        arguments->push_back({is_absent ? -2 : -1, 0, nullptr, bytes, nullptr});
        bytes +=
            (std::max<std::int64_t>(operand.tensor.size_bytes, 0) / kAlignment + 1) * kAlignment;
      }
    };
    place(plugin::inputs_of(op), &inputs_);
    place(plugin::body_inputs_of(op), &inputs_);
    place(plugin::outputs_of(op), &outputs_);
    CuResult result = driver.mem_alloc(&memory_, static_cast<std::size_t>(bytes));
    if (result == CuResult::kSuccess) result = driver.event_create(&start_, 0);
    if (result == CuResult::kSuccess) result = driver.event_create(&end_, 0);
    status_ = check(result, "making room for timing a kernel");
    for (auto* arguments : {&inputs_, &outputs_}) {
      for (sluice_argument& argument : *arguments) {
        const auto offset = static_cast<CuDevicePointer>(std::exchange(argument.offset_bytes, 0));
        if (argument.binding == -1) argument.address = reinterpret_cast<void*>(memory_ + offset);
      }
    }
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    if (start_ != nullptr) driver_.event_destroy(start_);
    if (end_ != nullptr) driver_.event_destroy(end_);
    if (memory_ != 0) driver_.mem_free(memory_);
  }

  const Status& status() const { return status_; }
  CuEvent start() const { return start_; }
  CuEvent end() const { return end_; }
  std::span<const sluice_argument> inputs() const { return inputs_; }
  std::span<const sluice_argument> outputs() const { return outputs_; }

 private:
  static constexpr std::int64_t kAlignment = 256;

  const DriverTable& driver_;
  Status status_;
  CuDevicePointer memory_ = 0;
  CuEvent start_ = nullptr;
  CuEvent end_ = nullptr;
  std::vector<sluice_argument> inputs_, outputs_;
};

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
  Source generated = std::exchange(kernel.source, std::move(tail));
  kernel.library = std::move(call);
  kernel.code = std::move(rest);
  kernel.num_blocks = kernel.source.grid[0];
  if (!driver_.libraries.are_measured || is_faster(device, kernel, generated, code)) return true;
  kernel.library = nullptr;
  kernel.source = std::move(generated);
  kernel.code = nullptr;
  return false;
}

Status Backend::list_tactics(const sluice_op& op, std::vector<std::string>* names) {
  if (Status status = enter(0); !status.is_ok()) return status;
  int num_steps = 0;
  std::unique_ptr<const LibraryCall> call;
  const bool has_library = libraries_.plan(0, op, &num_steps, &call).is_ok();
  *names = cuda::list_tactics(op, has_library);
  return plugin::ok();
}

bool Backend::is_faster(std::int32_t device, const Kernel& library, const Source& generated,
                        const sluice_kernel_code* code) {
  const std::pair key(device, generated.text);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = measured_.find(key); known != measured_.end()) return known->second;
  }
  Kernel ours;
  ours.op = library.op;
  ours.backend = this;
  ours.source = generated;
  Status status = load(device, generated.text, code, &ours.code);
  if (status.is_ok()) status = count_blocks(device, ours);
  const std::optional<float> own = status.is_ok() ? time_kernel(device, ours) : std::nullopt;
  const std::optional<float> theirs = time_kernel(device, library);
  const bool wins = !own || (theirs && *theirs <= *own);
  const std::lock_guard lock(mutex_);
  return measured_.emplace(key, wins).first->second;
}

std::optional<float> Backend::time_kernel(std::int32_t device, const Kernel& kernel) {
  Group group;
  group.backend = this;
  group.device = device;
  std::unique_ptr<Stream> stream;
  if (!make_stream(group, &stream).is_ok()) return std::nullopt;
  const DriverTable& cu = driver_.table;
  const Run run(cu, *kernel.op);
  CommandList list;
  if (kernel.library != nullptr) list.needs = kernel.library->needs();
  Status status = run.status();
  if (status.is_ok()) {
    status = plugin::detail::record_kernel(list, kernel, run.inputs(), run.outputs());
  }
  if (status.is_ok()) status = libraries_.prepare(stream->handle, list.needs, &stream->scratch);
  std::optional<float> best;
  for (int i = 0; i < kTimings && status.is_ok(); ++i) {
    float time = 0;
    cu.event_record(run.start(), stream->handle);
    for (int k = 0; k < kRunsTimed && status.is_ok(); ++k) {
      status = run_commands(*stream, list, 0, 1, {});
    }
    cu.event_record(run.end(), stream->handle);
    CuResult result = cu.stream_synchronize(stream->handle);
    if (result == CuResult::kSuccess) {
      result = cu.event_elapsed_time(&time, run.start(), run.end());
    }
    if (status.is_ok()) status = check_call(driver_, result, "timing a kernel");
    // The first runs load code.
    if (i > 0) best = std::min(best.value_or(time), time);
  }
  destroy_stream(*stream);
  return status.is_ok() ? best : std::nullopt;
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
