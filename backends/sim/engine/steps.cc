// The life of a step: start_next queues it at a station (a group's cores, or a copy engine),
// dispatch gives it a free server, begin computes its duration and schedules its end, complete
// applies its effect. Results are real, only time is simulated: the effect happens at the end, so a
// reader that does not wait sees the old bytes.
#include <cmath>

#include "engine/partition.h"
#include "engine/simulator.h"

namespace sluice::sim {
namespace {

const Kernel* kernel_of(const Run& run) { return static_cast<const Kernel*>(run.command().kernel); }

std::string node_of(const Kernel& kernel) {
  return "kernel \"" + std::string(kernel.op->name) + "\" (" + kernel.work.kind + ")";
}

const char* source_name(const Fault& fault) {
  return fault.message.empty() ? "an injected fault" : fault.message.c_str();
}

}  // namespace

void Simulator::start_next(Stream& stream) {
  while (!stream.runs.empty()) {
    const Run& run = stream.runs.front();
    if (run.recording != nullptr) {
      if (!pass_recording(stream)) return;
    } else if (state_of(stream.group->device).is_lost) {
      end_run(stream, lost_status(stream.group->device));
    } else if (run.next == run.list->commands.size()) {
      end_run(stream, plugin::ok());
    } else {
      const bool is_kernel = run.command().kernel != nullptr;
      stream.step = {};
      stream.step.station = is_kernel ? &stream.group->station : route_of(stream, run).station;
      // Kernels of a group run in order of submission, copies in order of arrival.
      stream.step.priority = is_kernel ? run.order : ++num_copies_;
      stream.step.station->waiting[stream.step.priority] = &stream;
      return dispatch(*stream.step.station);
    }
  }
}

void Simulator::dispatch(Station& station) {
  while (station.busy < station.servers && !station.waiting.empty()) {
    Stream& stream = *station.waiting.begin()->second;
    station.waiting.erase(station.waiting.begin());
    ++station.busy;
    begin(stream);
  }
}

void Simulator::begin(Stream& stream) {
  const bool is_kernel = stream.runs.front().command().kernel != nullptr;
  stream.step.is_served = true;
  const std::int64_t duration_ns = is_kernel ? begin_kernel(stream) : begin_copy(stream);
  if (stream.step.hung_by != 0) return;  // no event: only a reset or a cleared fault ends it
  stream.step.event = schedule(now_ns_ + duration_ns, {.stream = &stream});
}

std::int64_t Simulator::begin_kernel(Stream& stream) {
  Group& group = *stream.group;
  const Run& run = stream.runs.front();
  const Kernel& kernel = *kernel_of(run);
  const Compute& compute = device_of(group).compute;
  const FaultTarget target = {group.device, kernel.work.kind, kernel.op->name};
  std::int64_t duration_ns = compute_ns(stream, kernel);
  duration_ns = slowed(jittered(duration_ns, description_.jitter, random_), group);
  // Another list than the last one: the group loads its program first.
  if (group.program != 0 && group.program != run.list->program) {
    log_.add(now_ns_, "switch", "group=", group.id, " list=", run.list->id);
    duration_ns += compute.switch_ns;
  }
  group.program = run.list->program;
  log_.add(now_ns_, "kernel_start", "stream=", stream.id, " list=", run.list->id,
           " group=", group.id, " op=", kernel.work.kind, " node=", kernel.op->name);
  if (const Fault* hang = faults_.hit(FaultKind::kHungKernel, target, now_ns_); hang != nullptr) {
    stream.step.hung_by = hang->id;
  }
  if (const Fault* fault = faults_.hit(FaultKind::kFailedKernel, target, now_ns_);
      fault != nullptr) {
    stream.step.outcome = {fault->code, node_of(kernel) + " failed on device " +
                                            std::to_string(group.device) + ": " +
                                            source_name(*fault)};
  }
  return duration_ns;
}

/// Without jitter and faults. A masked kernel may be launched twice, or lose its work.
std::int64_t Simulator::compute_ns(Stream& stream, const Kernel& kernel) {
  const Group& group = *stream.group;
  const Device& device = device_of(group);
  if (device.partition.scheme != PartitionScheme::kMask) {
    return kernel_ns(device.compute, kernel.work, group.granted_cores);
  }
  const auto num_blocks =
      static_cast<std::int64_t>(std::ceil(kernel.work.elements / device.partition.block_elements));
  const MaskedRun run = run_masked(device.partition, device.cores, group.cores, num_blocks);
  if (run.is_lost || run.num_launches > 1) {
    log_.add(now_ns_, "lost_work", "stream=", stream.id, " node=", kernel.op->name,
             " blocks=", num_blocks, " launches=", run.num_launches);
  }
  stream.step.is_lost = run.is_lost;
  if (run.is_lost) return device.compute.launch_ns;
  return (run.num_launches - 1) * device.compute.launch_ns +
         kernel_ns(device.compute, kernel.work, run.num_working_cores);
}

std::int64_t Simulator::begin_copy(Stream& stream) {
  const Run& run = stream.runs.front();
  const Route route = route_of(stream, run);
  log_.add(now_ns_, "copy_start", "stream=", stream.id, " list=", run.list->id,
           " way=", stream.step.station->name, " bytes=", run.command().size_bytes);
  if (const Fault* fault = faults_.hit(FaultKind::kFailedCopy, {stream.group->device}, now_ns_);
      fault != nullptr) {
    stream.step.outcome = {fault->code, describe(stream) + " failed: " + source_name(*fault)};
  }
  for (const int device : {route.source, route.target}) {
    if (device >= 0 && state_of(device).is_lost) stream.step.outcome = lost_status(device);
  }
  return jittered(route.duration_ns, description_.jitter, random_);
}

/// Fails for a tensor of the kernel in another memory, if the device reaches none but its own.
Status Simulator::check_reach(const Stream& stream) const {
  const int device = stream.group->device;
  if (description_.devices[static_cast<std::size_t>(device)].host_memory) return plugin::ok();
  const Run& run = stream.runs.front();
  const sluice_op& op = *kernel_of(run)->op;
  std::vector<sluice_tensor> tensors;
  const std::span<const sluice_argument> inputs = run.command().inputs;
  const auto num_inputs = static_cast<std::size_t>(op.num_inputs);
  const std::span<void* const> bindings = run.bindings;
  plugin::detail::bind_tensors(plugin::inputs_of(op), inputs.first(num_inputs), bindings, tensors);
  plugin::detail::bind_tensors(plugin::body_inputs_of(op), inputs.subspan(num_inputs), bindings,
                               tensors);
  plugin::detail::bind_tensors(plugin::outputs_of(op), run.command().outputs, bindings, tensors);
  for (const sluice_tensor& tensor : tensors) {
    if (tensor.data == nullptr || tensor.size_bytes == 0) continue;
    if (memories_.device_of(tensor.data) == device) continue;
    return {SLUICE_FAILED_PRECONDITION, node_of(*kernel_of(run)) + ": device " +
                                            std::to_string(device) +
                                            " reaches only its own memory; copy the tensor to it"};
  }
  return plugin::ok();
}

void Simulator::complete(Stream& stream) {
  Run& run = stream.runs.front();
  const Step step = std::exchange(stream.step, {});
  --step.station->busy;
  const bool is_kernel = run.command().kernel != nullptr;
  Status status = step.outcome;
  if (status.is_ok() && is_kernel) status = check_reach(stream);
  if (status.is_ok() && !step.is_lost) {
    status =
        plugin::catch_all([&] { return plugin::detail::run_command(run.command(), run.bindings); });
  }
  log_.add(now_ns_, is_kernel ? "kernel_end" : "copy_end", "stream=", stream.id,
           " list=", run.list->id, " code=", status.code);
  if (status.is_ok()) {
    ++run.next;
  } else {
    end_run(stream, status);
  }
  start_next(stream);
  dispatch(*step.station);
}

/// Requires: the entry at the front is a list.
void Simulator::end_run(Stream& stream, const Status& status) {
  CommandList& list = *stream.runs.front().list;
  log_.add(now_ns_, "list_end", "stream=", stream.id, " list=", list.id, " code=", status.code);
  if (stream.first_error.is_ok()) stream.first_error = status;
  list.is_running = false;
  stream.runs.pop_front();
}

/// Takes the step under way from its station, which the caller then dispatches; null if none.
Station* Simulator::detach(Stream& stream) {
  const Step step = std::exchange(stream.step, {});
  if (step.station == nullptr) return nullptr;
  if (step.is_served) {
    --step.station->busy;
  } else {
    step.station->waiting.erase(step.priority);
  }
  if (step.event) events_.erase(*step.event);
  return step.station;
}

Simulator::Route Simulator::route_of(const Stream& stream, const Run& run) {
  const plugin::detail::Command& copy = run.command();
  const auto holder = [&](const sluice_argument& argument) {
    return memories_.device_of(plugin::detail::address_of(argument, run.bindings));
  };
  const auto described = [&](int device) -> const Device& {
    return description_.devices[static_cast<std::size_t>(device)];
  };
  const std::int64_t size = copy.size_bytes;
  const int source = holder(copy.inputs[0]);
  const int target = holder(copy.outputs[0]);
  const int here = source >= 0 ? source : stream.group->device;
  if (source == target) {
    return {&state_of(here).within, copy_ns(described(here).within, size), source, target};
  }
  if (source < 0) {
    return {&state_of(target).to_device, copy_ns(described(target).to_device, size), source,
            target};
  }
  const std::int64_t to_host_ns = copy_ns(described(source).to_host, size);
  if (target < 0) return {&state_of(source).to_host, to_host_ns, source, target};
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Link& link = description_.links[i];
    if (link.device_a != std::min(source, target) || link.device_b != std::max(source, target)) {
      continue;
    }
    Station& station = links_[i][source < target ? 0 : 1];
    return {&station, copy_ns(link.path, size), source, target};
  }
  // No link: one step that occupies the source's engine and lasts for both copies through the host.
  return {&state_of(source).to_host, to_host_ns + copy_ns(described(target).to_device, size),
          source, target};
}

std::string Simulator::describe(const Stream& stream) const {
  if (stream.runs.empty()) return "nothing is under way";
  const Run& run = stream.runs.front();
  if (run.recording != nullptr) return "it waits for an event of another stream";
  const std::string how = stream.step.hung_by != 0 ? " hangs" : "";
  const std::string where = stream.step.station != nullptr ? stream.step.station->name : "?";
  if (run.command().kernel != nullptr) return node_of(*kernel_of(run)) + " on " + where + how;
  return "copy of " + std::to_string(run.command().size_bytes) + " bytes on " + where;
}

}  // namespace sluice::sim
