#include "runtime/inference/device_io.h"

#include <utility>

namespace sluice::runtime {
namespace {

using GroupPointer = std::shared_ptr<const backend::Group>;

std::int64_t size_of(const package::TensorSpec& spec) {
  return ir::storage_bytes(spec.type).value_or(0);
}

Result<std::vector<backend::DeviceMemory>> allocate(
    const std::vector<package::TensorSpec>& specs, const backend::Group& group,
    const std::shared_ptr<const backend::Backend>& backend) {
  std::vector<backend::DeviceMemory> buffers;
  for (const package::TensorSpec& spec : specs) {
    buffers.push_back(
        SLUICE_TRY(backend::DeviceMemory::allocate(backend, group.device(), size_of(spec))));
  }
  return buffers;
}

}  // namespace

Result<std::unique_ptr<DeviceIo>> DeviceIo::create(const exec::LoadedModel& model,
                                                   const GroupPointer& first,
                                                   const GroupPointer& last) {
  const package::Signature& signature = model.signature();
  auto inputs = SLUICE_TRY(allocate(signature.inputs, *first, first->shared_backend()));
  auto outputs = SLUICE_TRY(allocate(signature.outputs, *last, last->shared_backend()));
  Copies in = {SLUICE_TRY(backend::Stream::create(first)),
               SLUICE_TRY(backend::CommandList::create(first))};
  Copies out = {SLUICE_TRY(backend::Stream::create(last)),
                SLUICE_TRY(backend::CommandList::create(last))};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SLUICE_TRY(in.list.add_copy(backend::bound_argument(static_cast<int>(i), 0),
                                backend::fixed_argument(inputs[i].address()),
                                size_of(signature.inputs[i])));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    SLUICE_TRY(out.list.add_copy(backend::fixed_argument(outputs[i].address()),
                                 backend::bound_argument(static_cast<int>(i), 0),
                                 size_of(signature.outputs[i])));
  }
  SLUICE_TRY(in.list.finish());
  SLUICE_TRY(out.list.finish());
  auto io = std::unique_ptr<DeviceIo>(new DeviceIo(std::move(in), std::move(out)));
  io->inputs_ = std::move(inputs);
  io->outputs_ = std::move(outputs);
  return io;
}

std::int64_t DeviceIo::memory_bytes() const {
  std::int64_t total = 0;
  for (const auto* buffers : {&inputs_, &outputs_}) {
    for (const backend::DeviceMemory& buffer : *buffers) total += buffer.size_bytes();
  }
  return total;
}

Status DeviceIo::start_copy_in(std::span<void* const> sources) {
  return in_.stream.submit(in_.list, sources);
}

Status DeviceIo::start_copy_out(std::span<void* const> targets) {
  return out_.stream.submit(out_.list, targets);
}

Result<bool> DeviceIo::poll(Copies& copies) {
  const Status status = copies.stream.wait(std::chrono::nanoseconds(0));
  if (status.is_ok()) return true;
  if (status.code() == Code::kDeadlineExceeded) return false;
  return status;
}

}  // namespace sluice::runtime
