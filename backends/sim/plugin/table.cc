// The plug-in table: every function calls the simulator, which owns groups, streams and lists.

#include <algorithm>

#include "engine/simulator.h"
#include "plugin/extensions.h"
#include "plugin/options.h"
#include "reference/kernels.h"

namespace sluice::sim {
namespace {

using plugin::ok;

bool is_static(const sluice_op& op) {
  const auto are_static = [](std::span<const sluice_operand> operands) {
    return std::ranges::all_of(
        operands, [](const sluice_operand& operand) { return plugin::is_static(operand.tensor); });
  };
  return are_static(plugin::inputs_of(op)) && are_static(plugin::outputs_of(op)) &&
         are_static(plugin::body_inputs_of(op));
}

/// Sums take the place of a summand of their shape: its element is read before theirs is written.
std::uint32_t in_place_inputs(const sluice_op& op) {
  if (plugin::kind_of(op) != "Add") return 0;
  const auto dims = plugin::dims_of(op.outputs[0].tensor);
  std::uint32_t inputs = 0;
  for (std::uint32_t i = 0; i < 2; ++i) {
    if (std::ranges::equal(plugin::dims_of(op.inputs[i].tensor), dims)) inputs |= 1U << i;
  }
  return inputs;
}

struct SimPlugin : plugin::PluginDefaults {
  static constexpr const char* kName = "sim";
  static constexpr const char* kVersion = "0.1";
  using Backend = Simulator;
  using Group = sim::Group;
  using Stream = sim::Stream;
  using Kernel = sim::Kernel;
  using CommandList = sim::CommandList;

  static Status create(std::span<const sluice_option> options, Backend** backend) {
    Description description;
    Status status = read_options(options, &description);
    if (!status.is_ok()) return status;
    *backend = new Simulator(std::move(description));
    return ok();
  }

  static std::int32_t num_devices(Backend& simulator) { return simulator.num_devices(); }

  static Status describe(Backend& simulator, std::int32_t index, sluice_device_info& info) {
    if (Status status = simulator.check_device(index); !status.is_ok()) return status;
    const Device& device = simulator.description().devices[static_cast<std::size_t>(index)];
    info.flags = SLUICE_DEVICE_SIMULATED;
    if (device.host_memory) info.flags |= SLUICE_DEVICE_HOST_MEMORY;
    if (device.own_memory) info.flags |= SLUICE_DEVICE_OWN_MEMORY;
    plugin::detail::copy_text("sim", info.kind);
    plugin::detail::copy_text(device.name, info.name);
    info.num_cores = device.cores;
    info.memory_bytes = device.memory_bytes;
    plugin::detail::copy_text(device.bus_address, info.bus_address);
    return ok();
  }

  static const void* find_extension(Backend& simulator, const char* name) {
    return sim::find_extension(reinterpret_cast<sluice_backend*>(&simulator), name);
  }

  // ---- operations ----

  static Status query(Backend& simulator, const sluice_op& op, sluice_op_support& support) {
    Status status = reference::check_op(op);
    if (status.is_ok() && is_static(op)) {
      const Compute& compute = simulator.description().devices.front().compute;
      support.cost_ns = static_cast<double>(kernel_ns(compute, work_of(op), 1));
    }
    return status;
  }

  static Status make_kernel(Backend& simulator, std::int32_t device, const sluice_op& op,
                            Kernel** kernel, sluice_kernel_info& info) {
    auto made = std::make_unique<Kernel>();
    made->op = &op;
    made->device = device;
    Status status = simulator.check_device(device);
    if (status.is_ok()) status = reference::check_op(op);
    if (status.is_ok()) status = plugin::detail::check_tensors(op);
    if (status.is_ok()) status = reference::make_kernel(op, &made->run);
    if (!status.is_ok()) return status;
    made->id = simulator.next_kernel_id();
    made->work = work_of(op);
    info.in_place_inputs = in_place_inputs(op);
    *kernel = made.release();
    return ok();
  }

  // ---- memory, groups, streams ----

  static Status allocate(Backend& simulator, std::int32_t device, std::int64_t size_bytes,
                         void** address) {
    const Status status = simulator.check_device(device);
    return status.is_ok() ? simulator.allocate(device, size_bytes, address) : status;
  }
  static void release(Backend& simulator, std::int32_t device, void* address) {
    simulator.free(device, address);
  }

  static Status make_group(Backend& simulator, std::int32_t device,
                           std::span<const std::int32_t> cores, Group** group) {
    const Status status = simulator.check_device(device);
    return status.is_ok() ? simulator.create_group(device, cores, group) : status;
  }
  static Status make_stream(Group& group, Stream** stream) {
    *stream = group.simulator->create_stream(&group);
    return ok();
  }
  static Status wait(Stream& stream, std::int64_t timeout_ns) {
    return stream.group->simulator->wait(&stream, timeout_ns);
  }
  static Status submit(Stream& stream, CommandList& list, std::span<void* const> bindings) {
    return stream.group->simulator->submit(&stream, &list, bindings);
  }

  // ---- command lists ----

  static Status make_list(Group& group, CommandList** list) {
    *list = group.simulator->create_list(&group);
    return ok();
  }
  static Status add_kernel(CommandList& list, const Kernel& kernel,
                           std::span<const sluice_argument> inputs,
                           std::span<const sluice_argument> outputs) {
    return plugin::detail::record_kernel(list, kernel, inputs, outputs);
  }
  static Status add_copy(CommandList& list, const sluice_argument& source,
                         const sluice_argument& target, std::int64_t size_bytes) {
    return plugin::detail::record_copy(list, source, target, size_bytes);
  }
  static Status finish(CommandList& list) {
    list.program = program_of(list);
    return plugin::detail::finish_list(list);
  }

  static void destroy(Backend* simulator) { delete simulator; }
  static void destroy(Kernel* kernel) { delete kernel; }
  static void destroy(Group* group) { group->simulator->destroy_group(group); }
  static void destroy(Stream* stream) { stream->group->simulator->destroy_stream(stream); }
  static void destroy(CommandList* list) { list->group->simulator->destroy_list(list); }
};

}  // namespace
}  // namespace sluice::sim

SLUICE_PLUGIN(sluice::sim::SimPlugin)
