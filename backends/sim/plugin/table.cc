// The C table of the plug-in: every function unwraps its handles and calls the simulator.

#include <algorithm>

#include "engine/simulator.h"
#include "plugin/extensions.h"
#include "plugin/options.h"
#include "reference/kernels.h"

namespace sluice::sim {
namespace {

using plugin::guard;
using plugin::ok;
using plugin::detail::copy_out;
using plugin::detail::copy_text;
using plugin::detail::wrap;

Simulator* unwrap(sluice_backend* p) { return reinterpret_cast<Simulator*>(p); }
Group* unwrap(sluice_group* p) { return reinterpret_cast<Group*>(p); }
Stream* unwrap(sluice_stream* p) { return reinterpret_cast<Stream*>(p); }
// The helpers that record lists know the bases of these two: handles point to those.
Kernel* unwrap(sluice_kernel* p) { return static_cast<Kernel*>(plugin::detail::unwrap(p)); }
CommandList* unwrap(sluice_command_list* p) {
  return static_cast<CommandList*>(plugin::detail::unwrap(p));
}

Simulator* simulator_of(sluice_stream* stream) { return unwrap(stream)->group->simulator; }

std::size_t size_of(std::int32_t count) { return static_cast<std::size_t>(std::max(count, 0)); }

// ---- backend and devices ------------------------------------------------------------------------

sluice_code create(const sluice_option* options, std::int32_t num_options, sluice_backend** backend,
                   sluice_message* message) {
  return guard(message, [&] {
    Description description;
    Status status = read_options({options, size_of(num_options)}, &description);
    if (!status.is_ok()) return status;
    *backend = wrap<sluice_backend>(std::make_unique<Simulator>(std::move(description)));
    return ok();
  });
}

void destroy(sluice_backend* backend) { delete unwrap(backend); }

std::int32_t device_count(sluice_backend* backend) { return unwrap(backend)->num_devices(); }

sluice_code device_describe(sluice_backend* backend, std::int32_t index, sluice_device_info* info,
                            sluice_message* message) {
  return guard(message, [&] {
    if (Status status = unwrap(backend)->check_device(index); !status.is_ok()) return status;
    const Device& device = unwrap(backend)->description().devices[size_of(index)];
    sluice_device_info told = {};
    told.flags = SLUICE_DEVICE_SIMULATED;
    if (device.host_memory) told.flags |= SLUICE_DEVICE_HOST_MEMORY;
    if (device.own_memory) told.flags |= SLUICE_DEVICE_OWN_MEMORY;
    copy_text("sim", told.kind);
    copy_text(device.name, told.name);
    told.num_cores = device.cores;
    told.memory_bytes = device.memory_bytes;
    copy_text(device.bus_address, told.bus_address);
    copy_out(told, info);
    return ok();
  });
}

// ---- operations ---------------------------------------------------------------------------------

bool is_static(const sluice_op& op) {
  const auto are_static = [](std::span<const sluice_operand> operands) {
    return std::ranges::all_of(
        operands, [](const sluice_operand& operand) { return plugin::is_static(operand.tensor); });
  };
  return are_static(plugin::inputs_of(op)) && are_static(plugin::outputs_of(op)) &&
         are_static(plugin::body_inputs_of(op));
}

sluice_code op_query(sluice_backend* backend, const sluice_op* op, sluice_op_support* support,
                     sluice_message* message) {
  return guard(message, [&] {
    const Status status = reference::check_op(*op);
    sluice_op_support told = {};
    told.supported = status.is_ok() ? 1 : 0;
    if (status.is_ok() && is_static(*op)) {
      const Compute& compute = unwrap(backend)->description().devices.front().compute;
      told.cost_ns = static_cast<double>(kernel_ns(compute, work_of(*op), 1));
    }
    copy_out(told, support);
    plugin::write_message(message, status.text);
    return status.code == SLUICE_UNIMPLEMENTED ? ok() : status;
  });
}

sluice_code kernel_create(sluice_backend* backend, std::int32_t device, const sluice_op* op,
                          sluice_kernel** kernel, sluice_kernel_info* info,
                          sluice_message* message) {
  return guard(message, [&] {
    auto made = std::make_unique<Kernel>();
    made->op = op;
    made->device = device;
    Status status = unwrap(backend)->check_device(device);
    if (status.is_ok()) status = reference::check_op(*op);
    if (status.is_ok()) status = plugin::detail::check_tensors(*op);
    if (status.is_ok()) status = reference::make_kernel(*op, &made->run);
    if (!status.is_ok()) return status;
    made->id = unwrap(backend)->next_kernel_id();
    made->work = work_of(*op);
    sluice_kernel_info told = {};
    told.in_place_inputs = made->run->in_place_inputs();
    copy_out(told, info);
    *kernel = wrap<sluice_kernel>(std::unique_ptr<plugin::detail::Kernel>(made.release()));
    return ok();
  });
}

void kernel_destroy(sluice_kernel* kernel) { delete unwrap(kernel); }

// ---- memory, groups, streams --------------------------------------------------------------------

sluice_code memory_allocate(sluice_backend* backend, std::int32_t device, std::int64_t size_bytes,
                            void** address, sluice_message* message) {
  return guard(message, [&] {
    if (Status status = unwrap(backend)->check_device(device); !status.is_ok()) return status;
    return unwrap(backend)->allocate(device, size_bytes, address);
  });
}

void memory_free(sluice_backend* backend, std::int32_t device, void* address) {
  unwrap(backend)->free(device, address);
}

sluice_code group_create(sluice_backend* backend, std::int32_t device, const std::int32_t* cores,
                         std::int32_t num_cores, sluice_group** group, sluice_message* message) {
  return guard(message, [&] {
    if (Status status = unwrap(backend)->check_device(device); !status.is_ok()) return status;
    Group* made = nullptr;
    Status status = unwrap(backend)->create_group(device, {cores, size_of(num_cores)}, &made);
    *group = reinterpret_cast<sluice_group*>(made);
    return status;
  });
}

void group_destroy(sluice_group* group) { unwrap(group)->simulator->destroy_group(unwrap(group)); }

sluice_code stream_create(sluice_group* group, sluice_stream** stream, sluice_message* message) {
  return guard(message, [&] {
    Stream* made = unwrap(group)->simulator->create_stream(unwrap(group));
    *stream = reinterpret_cast<sluice_stream*>(made);
    return ok();
  });
}

void stream_destroy(sluice_stream* stream) { simulator_of(stream)->destroy_stream(unwrap(stream)); }

sluice_code stream_wait(sluice_stream* stream, std::int64_t timeout_ns, sluice_message* message) {
  return guard(message, [&] { return simulator_of(stream)->wait(unwrap(stream), timeout_ns); });
}

// ---- command lists ------------------------------------------------------------------------------

sluice_code list_create(sluice_group* group, sluice_command_list** list, sluice_message* message) {
  return guard(message, [&] {
    plugin::detail::CommandList* made = unwrap(group)->simulator->create_list(unwrap(group));
    *list = reinterpret_cast<sluice_command_list*>(made);
    return ok();
  });
}

void list_destroy(sluice_command_list* list) {
  unwrap(list)->group->simulator->destroy_list(unwrap(list));
}

sluice_code list_finish(sluice_command_list* list, sluice_message* message) {
  unwrap(list)->program = program_of(*unwrap(list));
  return plugin::detail::list_finish(list, message);
}

sluice_code list_submit(sluice_stream* stream, sluice_command_list* list, void* const* bindings,
                        std::int32_t num_bindings, sluice_message* message) {
  return guard(message, [&] {
    return simulator_of(stream)->submit(unwrap(stream), unwrap(list),
                                        {bindings, size_of(num_bindings)});
  });
}

sluice_backend_api make_table() {
  sluice_backend_api api = {};
  api.struct_size = sizeof(sluice_backend_api);
  api.abi_major = SLUICE_BACKEND_ABI_MAJOR;
  api.abi_minor = SLUICE_BACKEND_ABI_MINOR;
  api.name = "sim";
  api.version = "0.1";
  api.packing_key = [](sluice_backend*) { return ""; };
  api.create = create;
  api.destroy = destroy;
  api.device_count = device_count;
  api.device_describe = device_describe;
  api.op_query = op_query;
  api.packing_query = plugin::detail::packing_query;
  api.pack = plugin::detail::pack;
  api.kernel_create = kernel_create;
  api.kernel_destroy = kernel_destroy;
  api.memory_allocate = memory_allocate;
  api.memory_free = memory_free;
  api.group_create = group_create;
  api.group_destroy = group_destroy;
  api.stream_create = stream_create;
  api.stream_destroy = stream_destroy;
  api.stream_wait = stream_wait;
  api.list_create = list_create;
  api.list_destroy = list_destroy;
  api.list_add_kernel = plugin::detail::list_add_kernel;
  api.list_add_copy = plugin::detail::list_add_copy;
  api.list_finish = list_finish;
  api.list_submit = list_submit;
  api.find_extension = find_extension;
  return api;
}

}  // namespace
}  // namespace sluice::sim

extern "C" SLUICE_PLUGIN_EXPORT const sluice_backend_api* sluice_backend_entry(
    uint16_t host_major, uint16_t, sluice_message* message) {
  if (host_major != SLUICE_BACKEND_ABI_MAJOR) {
    sluice::plugin::write_message(message, "sim: made for another major version of the table");
    return nullptr;
  }
  static const sluice_backend_api kApi = sluice::sim::make_table();
  return &kApi;
}
