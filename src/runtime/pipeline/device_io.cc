#include "runtime/pipeline/device_io.h"

#include <utility>

namespace sluice::runtime {
namespace {

Result<std::vector<device::PooledMemory>> allocate(const std::vector<terms::TensorSpec>& specs,
                                                   device::MemoryPool& memory,
                                                   const std::string& name) {
  std::vector<device::PooledMemory> buffers;
  for (const terms::TensorSpec& spec : specs) {
    const std::int64_t size_bytes = ir::storage_bytes(spec.type).value_or(0);
    buffers.push_back(
        SLUICE_TRY(memory.allocate(size_bytes, name, device::MemoryCategory::kTensors)));
  }
  return buffers;
}

}  // namespace

Result<std::unique_ptr<DeviceIo>> DeviceIo::create(const terms::Signature& signature,
                                                   const DeviceEnd& first, const DeviceEnd& last,
                                                   const std::string& name) {
  auto inputs = SLUICE_TRY(allocate(signature.inputs, first.services->memory, name));
  auto outputs = SLUICE_TRY(allocate(signature.outputs, last.services->memory, name));
  return std::unique_ptr<DeviceIo>(
      new DeviceIo(std::move(inputs), std::move(outputs), first, last));
}

std::int64_t DeviceIo::memory_bytes() const {
  std::int64_t total = 0;
  for (const Buffers* buffers : {&inputs_, &outputs_}) {
    for (const device::PooledMemory& buffer : *buffers) total += buffer.size_bytes();
  }
  return total;
}

Status DeviceIo::start_copy_in(std::span<void* const> sources, const device::Urgency& urgency) {
  // Keeps its capacity, so that only the first request allocates here.
  copies_.clear();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (sources[i] == inputs_[i].address()) continue;
    copies_.push_back({sources[i], inputs_[i].address(), inputs_[i].size_bytes()});
  }
  return in_.start(device::Direction::kToDevice, copies_, urgency);
}

Status DeviceIo::start_copy_out(std::span<void* const> targets, const device::Urgency& urgency) {
  copies_.clear();
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (targets[i] == outputs_[i].address()) continue;
    copies_.push_back({outputs_[i].address(), targets[i], outputs_[i].size_bytes()});
  }
  return out_.start(device::Direction::kFromDevice, copies_, urgency);
}

void DeviceIo::cancel() {
  in_.cancel();
  out_.cancel();
}

}  // namespace sluice::runtime
