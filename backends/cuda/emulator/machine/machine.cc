#include "emulator/machine/machine.h"

#include <atomic>

#include "emulator/machine/capture.h"

namespace sluice::cuda::emulator {
namespace {

struct Current {
  std::mutex mutex;
  std::shared_ptr<Machine> machine;
};

/// Never destroyed: a host may end its backends, and with them the machine, after the destructors
/// of this library's statics have run.
union Immortal {
  Immortal() : value() {}
  ~Immortal() {}
  Current value;
};

Current& current() {
  static Immortal immortal;
  return immortal.value;
}

}  // namespace

std::uintptr_t next_handle() {
  static std::atomic<std::uintptr_t> next = 0x1000;
  return next += 16;
}

Machine::Machine(Description what, LoadCode load_code)
    : description(std::move(what)), load(std::move(load_code)), scheduler(description.seed) {
  for (std::size_t i = 0; i < description.devices.size(); ++i) {
    devices.push_back(std::make_unique<Device>());
    devices.back()->ordinal = static_cast<CuDevice>(i);
  }
}

Device* Machine::find_device(CuDevice ordinal) {
  const auto index = static_cast<std::size_t>(ordinal);
  return ordinal >= 0 && index < devices.size() ? devices[index].get() : nullptr;
}

std::shared_ptr<Context> Machine::make_context(Device& device, std::vector<int> multiprocessors) {
  auto context = std::make_shared<Context>();
  context->device = &device;
  context->multiprocessors = std::move(multiprocessors);
  context->default_stream = std::make_shared<Stream>();
  context->default_stream->context = context.get();
  context->default_stream->is_default = true;
  all_contexts.push_back(context);
  return context;
}

bool set_machine(std::shared_ptr<Machine> machine) {
  const std::lock_guard lock(current().mutex);
  if (machine != nullptr && current().machine != nullptr) return false;
  current().machine = std::move(machine);
  return true;
}

std::shared_ptr<Machine> find_machine() {
  const std::lock_guard lock(current().mutex);
  return current().machine;
}

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

CuResult explain(CuResult result, std::string_view text) {
  auto& explanation = thread_state().explanation;
  explanation[text.copy(explanation.data(), explanation.size() - 1)] = '\0';
  return result;
}

std::shared_ptr<Stream> find_stream(const Machine& machine, const Context& context,
                                    CuStream handle) {
  return handle == nullptr ? context.default_stream : machine.streams.find(handle);
}

bool fits(const Machine& machine, const Device& device, std::size_t bytes) {
  const auto& what = machine.description.devices[static_cast<std::size_t>(device.ordinal)];
  const auto total = static_cast<std::uint64_t>(what.memory_bytes);
  return bytes <= total && rounded_bytes(bytes) <= total - device.used_bytes;
}

CuResult out_of_memory(const Machine& machine, const Device& device, std::size_t bytes) {
  const auto& what = machine.description.devices[static_cast<std::size_t>(device.ordinal)];
  return explain(CuResult::kOutOfMemory, "device " + std::to_string(device.ordinal) + " has no " +
                                             std::to_string(bytes) + " bytes left of " +
                                             std::to_string(what.memory_bytes));
}

CuResult submit(Machine& machine, const std::shared_ptr<Stream>& stream, Work work) {
  if (stream->capture != nullptr) return capture_operation(*stream, std::move(work.run));
  if (stream->is_default && blocks_a_capture(machine, *stream)) return CuResult::kCaptureImplicit;
  if (!stream->context->device->error.is_none()) return explain(stream->context->device->error);
  machine.scheduler.submit(stream, std::move(work));
  return CuResult::kSuccess;
}

}  // namespace sluice::cuda::emulator
