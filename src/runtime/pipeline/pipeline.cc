#include "runtime/pipeline/pipeline.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "exec/aligned_buffer.h"
#include "runtime/pipeline/left_output.h"

namespace sluice::runtime {
namespace {

/// The own-memory device that runs a segment; nullopt for a device that uses host memory.
Result<DeviceEnd> find_end(const exec::LoadedModel& model, std::size_t segment,
                           device::DeviceServiceTable& devices, const std::string& name) {
  const backend::Group& group = *model.group_of(segment);
  const auto index = static_cast<std::size_t>(group.device());
  // Without host memory the segment's own command list copies what crosses its borders.
  if (!group.backend().devices()[index].has_host_memory) return DeviceEnd{};
  auto services = SLUICE_TRY(devices.of(group.shared_backend(), group.device()));
  if (services == nullptr) return DeviceEnd{};
  auto client = device::SharedTransfers::add_client(services->transfers, name);
  return DeviceEnd{std::move(services), std::move(client)};
}

struct OwnedMemory {
  std::shared_ptr<void> owner;
  void* data = nullptr;
};

Result<OwnedMemory> allocate(std::int64_t size_bytes) {
  auto buffer = std::make_shared<exec::AlignedBuffer>();
  SLUICE_TRY(buffer->reserve(size_bytes));
  void* data = buffer->data();
  return OwnedMemory{std::move(buffer), data};
}

/// A copy of fewer bytes costs less than memory that the context has to allocate for each run.
constexpr std::int64_t kLeastTakenBytes = std::int64_t{64} << 10;

/// An output of dynamic shape, which lies in the context's memory.
Result<terms::OutputTensor> take_dynamic(exec::Context& context, std::size_t index) {
  terms::TensorView view = context.output(index);
  if (view.size_bytes >= kLeastTakenBytes) {
    exec::Tensor taken = SLUICE_TRY(context.take_output(index));
    return terms::OutputTensor{std::move(taken.view), std::move(taken.memory)};
  }
  OwnedMemory memory = SLUICE_TRY(allocate(view.size_bytes));
  if (view.size_bytes > 0) {
    std::memcpy(memory.data, view.data, static_cast<std::size_t>(view.size_bytes));
  }
  view.data = memory.data;
  return terms::OutputTensor{std::move(view), std::move(memory.owner)};
}

}  // namespace

Result<Pipeline> Pipeline::create(exec::LoadedModel model, std::size_t num_slots,
                                  device::DeviceServiceTable& devices, const std::string& name,
                                  const std::stop_token& stop) {
  Pipeline pipeline(std::move(model));
  pipeline.name_ = devices.enter(name);
  const exec::LoadedModel& loaded = pipeline.model_;
  DeviceEnd first;
  DeviceEnd last;
  if (pipeline.runs_in_parts()) {
    const backend::Group& group = *loaded.group_of(0);
    pipeline.first_ = SLUICE_TRY(devices.of(group.shared_backend(), group.device()));
    first = SLUICE_TRY(find_end(loaded, 0, devices, name));
    last = SLUICE_TRY(find_end(loaded, loaded.num_segments() - 1, devices, name));
    if (pipeline.is_on_one_device()) pipeline.left_on_ = pipeline.first_;
  }
  if (pipeline.left_on_ != nullptr) pipeline.left_name_ = devices.enter(device::kExchangeClient);
  // Copies are stages of their own only where both ends have services that copy.
  const bool has_copies = first.services != nullptr && last.services != nullptr;
  for (std::size_t i = 0; i < num_slots; ++i) {
    Slot slot = {SLUICE_TRY(loaded.create_context(stop, name)), nullptr, {}, {}, {}, {}, {}, {}};
    if (has_copies) {
      slot.device = SLUICE_TRY(DeviceIo::create(loaded.signature(), first, last, name));
    }
    slot.owners.resize(loaded.signature().outputs.size());
    slot.targets.resize(loaded.signature().outputs.size());
    slot.left.resize(loaded.signature().outputs.size());
    pipeline.slots_.push_back(std::move(slot));
  }
  pipeline.add_stages(has_copies);
  return pipeline;
}

bool Pipeline::runs_in_parts() const {
  // Stages need lists that were recorded at the load, in one order. A model without operations has
  // none, but a run gives its outputs.
  return model_.num_segments() > 0 && model_.has_static_shapes() &&
         model_.executor() == exec::ExecutorKind::kLinear;
}

bool Pipeline::is_on_one_device() const {
  const backend::Group& first = *model_.group_of(0);
  for (std::size_t i = 1; i < model_.num_segments(); ++i) {
    const backend::Group& group = *model_.group_of(i);
    const bool is_same = &group.backend() == &first.backend() && group.device() == first.device();
    if (!is_same) return false;
  }
  return true;
}

exec::DeviceName Pipeline::device_name() const {
  const backend::Group& group = *model_.group_of(0);
  return {group.backend().name(), group.device()};
}

void Pipeline::add_stages(bool has_copies) {
  if (has_copies) stages_.push_back({terms::StageKind::kCopyIn, 0, num_lanes_++});
  if (!runs_in_parts()) {
    stages_.push_back({terms::StageKind::kCompute, 0, num_lanes_++});
    return;
  }
  // Segments on the same cores share a lane: two slots must not run on one group at a time.
  std::vector<const backend::Group*> groups;
  std::vector<std::size_t> lanes;
  for (std::size_t segment = 0; segment < model_.num_segments(); ++segment) {
    const backend::Group* group = model_.group_of(segment).get();
    std::size_t at = 0;
    while (at < groups.size() && groups[at] != group) ++at;
    if (at == groups.size()) {
      groups.push_back(group);
      lanes.push_back(num_lanes_++);
    }
    stages_.push_back({terms::StageKind::kCompute, segment, lanes[at]});
  }
  if (has_copies) stages_.push_back({terms::StageKind::kCopyOut, 0, num_lanes_++});
}

std::int64_t Pipeline::memory_bytes() const {
  std::int64_t total = 0;
  for (const Slot& slot : slots_) {
    total += slot.context.memory_bytes();
    if (slot.device != nullptr) total += slot.device->memory_bytes();
  }
  return total;
}

Status Pipeline::prepare(std::size_t index, const Request& request, exec::Checkpoint checkpoint) {
  Slot& slot = slots_[index];
  slot.context.set_checkpoint(std::move(checkpoint));
  slot.sources.clear();
  slot.copies.clear();
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    slot.sources.push_back(request.inputs[i].data);
    SLUICE_TRY(set_input(slot, i, request));
  }
  slot.urgency = {request.deadline_ns, request.priority};
  return bind_outputs(slot, request);
}

/// A tensor of the exchange that is on the device is read there, if the model can.
Status Pipeline::set_input(Slot& slot, std::size_t index, const Request& request) const {
  const terms::TensorView& view = request.inputs[index];
  terms::TensorView there = view;
  auto copy = first_ == nullptr ? nullptr : first_->constants.find(view.data, view.size_bytes);
  if (copy != nullptr) there.data = const_cast<void*>(copy.get());  // NOLINT: inputs are only read
  if (copy != nullptr && slot.device != nullptr) {
    slot.sources[index] = slot.device->input(index);  // nothing is to be copied
    slot.copies.push_back(std::move(copy));
    return slot.context.set_input(index, there);
  }
  if (copy != nullptr && slot.context.set_device_input(index, there, device_name()).is_ok()) {
    slot.copies.push_back(std::move(copy));
    return ok_status();
  }
  SLUICE_TRY(request.fetch_input(index));
  there.data = slot.device != nullptr ? slot.device->input(index) : view.data;
  return slot.context.set_input(index, there);
}

Status Pipeline::bind_outputs(Slot& slot, const Request& request) {
  const auto& specs = model_.signature().outputs;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    slot.owners[i] = nullptr;
    slot.left[i] = {};
    slot.targets[i] = i < request.outputs.size() ? request.outputs[i] : terms::OutputMemory{};
    const auto size = ir::storage_bytes(specs[i].type);
    // An output of dynamic shape gets memory of the context until take_outputs.
    if (slot.targets[i].data == nullptr && size) {
      const bool stays = i < request.left_outputs.size() && request.left_outputs[i];
      if (stays && left_on_ != nullptr && *size > 0) {
        // Without room on the device the output goes to the host.
        if (auto memory = left_on_->constants.reserve(*size); memory.is_ok()) {
          slot.left[i] = std::move(*memory);
        }
      }
      // The place of an output that stays: its pages are used when the bytes come.
      OwnedMemory memory = SLUICE_TRY(allocate(*size));
      slot.owners[i] = std::move(memory.owner);
      slot.targets[i] = {memory.data, *size};
    }
    // Checked before the run: the copy out writes the whole output. A host run checks in finish().
    if (slot.device != nullptr && slot.targets[i].capacity_bytes < size.value_or(0)) {
      return terms::runtime_error(RuntimeCode::kBadInput,
                                  "output \"{}\" has {} bytes, its memory {}", specs[i].name, *size,
                                  slot.targets[i].capacity_bytes);
    }
    SLUICE_TRY(bind_output(slot, i, size.value_or(0)));
  }
  return ok_status();
}

/// Requires: `size_bytes` are those of the output, where stages copy.
Status Pipeline::bind_output(Slot& slot, std::size_t index, std::int64_t size_bytes) const {
  device::PooledMemory& left = slot.left[index];
  if (slot.device != nullptr) {
    void* there = left.address() != nullptr ? left.address() : slot.device->output(index);
    return slot.context.bind_output(index, there, size_bytes);
  }
  if (left.address() != nullptr) {
    const Status bound =
        slot.context.bind_device_output(index, left.address(), size_bytes, device_name());
    if (bound.is_ok()) return ok_status();
    left = {};  // the model writes to the host's memory alone
  }
  return slot.context.bind_output(index, slot.targets[index].data,
                                  slot.targets[index].capacity_bytes);
}

bool Pipeline::is_last_compute(std::size_t stage) const {
  return stage + 1 == stages_.size() || stages_[stage + 1].kind == terms::StageKind::kCopyOut;
}

Status Pipeline::start(std::size_t index, std::size_t number) {
  Slot& slot = slots_[index];
  const Stage& stage = stages_[number];
  switch (stage.kind) {
    case terms::StageKind::kCopyIn: return slot.device->start_copy_in(slot.sources, slot.urgency);
    case terms::StageKind::kCopyOut: return start_copy_out(slot);
    case terms::StageKind::kCompute: break;
  }
  if (!runs_in_parts()) return slot.context.run();
  if (stage.segment == 0) SLUICE_TRY(slot.context.begin());
  return slot.context.submit_segment(stage.segment);
}

Status Pipeline::start_copy_out(Slot& slot) {
  std::vector<void*> targets;
  for (std::size_t i = 0; i < slot.targets.size(); ++i) {
    const bool stays = slot.left[i].address() != nullptr;
    targets.push_back(stays ? slot.device->output(i) : slot.targets[i].data);
  }
  return slot.device->start_copy_out(targets, slot.urgency);
}

Status Pipeline::run(std::size_t index, const std::function<Status(std::size_t)>& before_segment) {
  Slot& slot = slots_[index];
  if (before_segment) {
    const std::size_t num_segments = model_.num_segments();
    if (slot.device == nullptr && runs_in_parts()) {
      return run_by_segments(slot, before_segment);
    }
    for (std::size_t i = 0; i < std::max<std::size_t>(num_segments, 1); ++i) {
      SLUICE_TRY(before_segment(i));
    }
  }
  if (slot.device == nullptr) return slot.context.run();
  SLUICE_TRY(slot.device->start_copy_in(slot.sources, slot.urgency));
  SLUICE_TRY(slot.device->wait_copy_in());
  SLUICE_TRY(slot.context.run());
  SLUICE_TRY(start_copy_out(slot));
  return slot.device->wait_copy_out();
}

Status Pipeline::run_by_segments(Slot& slot,
                                 const std::function<Status(std::size_t)>& before_segment) {
  SLUICE_TRY(slot.context.begin());
  for (std::size_t i = 0; i < model_.num_segments(); ++i) {
    SLUICE_TRY(before_segment(i));
    SLUICE_TRY(slot.context.submit_segment(i));
    // Only this segment is waited for; finish() waits for all.
    while (!SLUICE_TRY(slot.context.poll_segment(i))) std::this_thread::yield();
  }
  return slot.context.finish();
}

void Pipeline::abandon(std::size_t index) {
  if (slots_[index].device != nullptr) slots_[index].device->cancel();
}

Result<bool> Pipeline::poll(std::size_t index, std::size_t number) {
  Slot& slot = slots_[index];
  const Stage& stage = stages_[number];
  if (stage.kind == terms::StageKind::kCopyIn) return slot.device->poll_copy_in();
  if (stage.kind == terms::StageKind::kCopyOut) return slot.device->poll_copy_out();
  if (!runs_in_parts()) return true;
  const bool is_done = SLUICE_TRY(slot.context.poll_segment(stage.segment));
  // `finish` checks the sizes of outputs, which the copy out then reads.
  if (is_done && is_last_compute(number)) SLUICE_TRY(slot.context.finish());
  return is_done;
}

Result<std::vector<terms::OutputTensor>> Pipeline::take_outputs(std::size_t index) {
  Slot& slot = slots_[index];
  slot.copies.clear();  // a tensor that has left the exchange leaves the device, too
  std::vector<terms::OutputTensor> outputs;
  for (std::size_t i = 0; i < slot.targets.size(); ++i) {
    outputs.push_back(SLUICE_TRY(take_output(slot, i)));
  }
  return outputs;
}

Result<terms::OutputTensor> Pipeline::take_output(Slot& slot, std::size_t index) const {
  if (slot.targets[index].data == nullptr) return take_dynamic(slot.context, index);
  terms::OutputTensor output = {slot.context.output(index), std::move(slot.owners[index])};
  const bool stays = slot.left[index].address() != nullptr;
  // The context's view is of device memory: the copy out has brought the bytes here, or will.
  if (slot.device != nullptr || stays) output.view.data = slot.targets[index].data;
  if (!stays) return output;
  const Bytes host(output.owner, {static_cast<const std::byte*>(output.view.data),
                                  static_cast<std::size_t>(output.view.size_bytes)});
  output.left = SLUICE_TRY(leave_on(left_on_, left_name_, host, std::move(slot.left[index])));
  return output;
}

}  // namespace sluice::runtime
