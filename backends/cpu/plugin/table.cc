// The C table of the plug-in: every function unwraps its handles and calls one method.

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "plugin/backend.h"
#include "plugin/step_times.h"
#include "plugin/variants.h"
#include "sluice/host_backend.hpp"
#include "sluice/input_alignment.h"

namespace sluice::cpu {
namespace {

using plugin::guard;
using plugin::ok;
using plugin::detail::check_device;
using plugin::detail::copy_out;
using plugin::detail::copy_text;
using plugin::detail::wrap;

Backend* unwrap(sluice_backend* p) { return reinterpret_cast<Backend*>(p); }
Group* unwrap(sluice_group* p) { return reinterpret_cast<Group*>(p); }
Stream* unwrap(sluice_stream* p) { return reinterpret_cast<Stream*>(p); }
Kernel* unwrap(sluice_kernel* p) { return reinterpret_cast<Kernel*>(p); }
CommandList* unwrap(sluice_command_list* p) { return reinterpret_cast<CommandList*>(p); }

std::size_t size_of(std::int32_t count) { return static_cast<std::size_t>(std::max(count, 0)); }

// ---- backend and device -------------------------------------------------------------------------

sluice_code create(const sluice_option* options, std::int32_t num_options, sluice_backend** backend,
                   sluice_message* message) {
  return guard(message, [&] {
    auto made = std::make_unique<Backend>();
    for (std::int32_t i = 0; i < num_options; ++i) {
      Status status = made->set_option(options[i].name, options[i].value);
      if (!status.is_ok()) return status;
    }
    *backend = wrap<sluice_backend>(std::move(made));
    return ok();
  });
}

void destroy(sluice_backend* backend) { delete unwrap(backend); }

const char* packing_key(sluice_backend* backend) { return isa_name(unwrap(backend)->isa()); }

std::int32_t device_count(sluice_backend*) { return 1; }

sluice_code device_describe(sluice_backend* backend, std::int32_t device, sluice_device_info* info,
                            sluice_message* message) {
  return guard(message, [&] {
    if (Status status = check_device(device); !status.is_ok()) return status;
    sluice_device_info told = {};
    told.flags = SLUICE_DEVICE_HOST_MEMORY;
    copy_text("cpu", told.kind);
    copy_text(unwrap(backend)->device_name(), told.name);
    told.num_cores = static_cast<std::int32_t>(unwrap(backend)->cpus().size());
    copy_out(told, info);
    return ok();
  });
}

// ---- operations ---------------------------------------------------------------------------------

sluice_code op_query(sluice_backend* backend, const sluice_op* op, sluice_op_support* support,
                     sluice_message* message) {
  return guard(message, [&] {
    sluice_op_support told = {};
    Status status = unwrap(backend)->query(*op, &told);
    copy_out(told, support);
    plugin::write_message(message, status.text);
    // An operation without a kernel is an answer, not an error.
    return status.code == SLUICE_UNIMPLEMENTED ? ok() : status;
  });
}

sluice_code packing_query(sluice_backend* backend, const sluice_op* op, std::int32_t input,
                          sluice_packing* packing, sluice_message* message) {
  return guard(message, [&] {
    if (Status status = plugin::detail::check_input(*op, input); !status.is_ok()) return status;
    sluice_packing told = {};
    Status status = unwrap(backend)->packing(*op, input, &told);
    copy_out(told, packing);
    return status;
  });
}

sluice_code pack(sluice_backend* backend, const sluice_op* op, std::int32_t input, void* packed,
                 sluice_message* message) {
  return guard(message, [&] {
    if (Status status = plugin::detail::check_input(*op, input); !status.is_ok()) return status;
    return unwrap(backend)->pack(*op, input, packed);
  });
}

sluice_code kernel_create(sluice_backend* backend, std::int32_t device, const sluice_op* op,
                          sluice_kernel** kernel, sluice_kernel_info* info,
                          sluice_message* message) {
  return guard(message, [&] {
    if (Status status = check_device(device); !status.is_ok()) return status;
    std::unique_ptr<Kernel> made;
    Status status = unwrap(backend)->make_kernel(*op, &made);
    if (!status.is_ok()) return status;
    sluice_kernel_info told = {};
    told.in_place_inputs = made->in_place_inputs();
    copy_out(told, info);
    *kernel = wrap<sluice_kernel>(std::move(made));
    return ok();
  });
}

void kernel_destroy(sluice_kernel* kernel) { delete unwrap(kernel); }

// ---- groups, streams, lists ---------------------------------------------------------------------

sluice_code group_create(sluice_backend* backend, std::int32_t device, const std::int32_t* cores,
                         std::int32_t num_cores, sluice_group** group, sluice_message* message) {
  return guard(message, [&] {
    if (Status status = check_device(device); !status.is_ok()) return status;
    const std::vector<int>& all = unwrap(backend)->cpus();
    std::vector<int> cpus;
    for (std::int32_t i = 0; i < num_cores; ++i) {
      if (cores[i] < 0 || size_of(cores[i]) >= all.size()) {
        return Status{SLUICE_OUT_OF_RANGE, "no core " + std::to_string(cores[i]) + "; there are " +
                                               std::to_string(all.size())};
      }
      cpus.push_back(all[size_of(cores[i])]);
    }
    if (cpus.empty()) return plugin::invalid_argument("a group needs at least one core");
    *group = reinterpret_cast<sluice_group*>(new Group{ThreadPool(std::move(cpus))});
    return ok();
  });
}

void group_destroy(sluice_group* group) { delete unwrap(group); }

sluice_code stream_create(sluice_group*, sluice_stream** stream, sluice_message* message) {
  return guard(message, [&] {
    *stream = wrap<sluice_stream>(std::make_unique<Stream>());
    return ok();
  });
}

void stream_destroy(sluice_stream* stream) { delete unwrap(stream); }

sluice_code stream_wait(sluice_stream* stream, std::int64_t, sluice_message* message) {
  return guard(message, [&] { return std::exchange(unwrap(stream)->first_error, ok()); });
}

sluice_code list_create(sluice_group* group, sluice_command_list** list, sluice_message* message) {
  return guard(message, [&] {
    *list = wrap<sluice_command_list>(std::make_unique<CommandList>(unwrap(group)->pool));
    return ok();
  });
}

void list_destroy(sluice_command_list* list) { delete unwrap(list); }

sluice_code list_add_kernel(sluice_command_list* list, sluice_kernel* kernel,
                            const sluice_argument* inputs, std::int32_t num_inputs,
                            const sluice_argument* outputs, std::int32_t num_outputs,
                            sluice_message* message) {
  return guard(message, [&] {
    return unwrap(list)->add_kernel(*unwrap(kernel), {inputs, size_of(num_inputs)},
                                    {outputs, size_of(num_outputs)});
  });
}

sluice_code list_add_copy(sluice_command_list* list, const sluice_argument* source,
                          const sluice_argument* target, std::int64_t size_bytes,
                          sluice_message* message) {
  return guard(message, [&] { return unwrap(list)->add_copy(*source, *target, size_bytes); });
}

sluice_code list_finish(sluice_command_list* list, sluice_message* message) {
  return guard(message, [&] { return unwrap(list)->finish(); });
}

sluice_code list_submit(sluice_stream* stream, sluice_command_list* list, void* const* bindings,
                        std::int32_t num_bindings, sluice_message* message) {
  return guard(message, [&] {
    Status ran = plugin::catch_all([&] {
      return unwrap(list)->run({bindings, size_of(num_bindings)});
    });
    // Misuse is reported at once. A failure of the computation is the stream's, as it would be on a
    // device that runs lists asynchronously.
    if (ran.code == SLUICE_FAILED_PRECONDITION || ran.code == SLUICE_INVALID_ARGUMENT) return ran;
    Status& first_error = unwrap(stream)->first_error;
    if (first_error.is_ok()) first_error = std::move(ran);
    return ok();
  });
}

// Kernels load vectors from any address of an element (core/simd.h).
constexpr sluice_input_alignment kInputAlignment = {sizeof(sluice_input_alignment), 1};

const void* find_extension(sluice_backend*, const char* name) {
  if (std::strcmp(name, SLUICE_INPUT_ALIGNMENT) == 0) return &kInputAlignment;
  if (std::strcmp(name, SLUICE_STEP_TIMES) == 0) return &kStepTimes;
  return std::strcmp(name, SLUICE_VARIANTS) == 0 ? &kVariants : nullptr;
}

sluice_backend_api make_table() {
  sluice_backend_api api = {};
  api.struct_size = sizeof(sluice_backend_api);
  api.abi_major = SLUICE_BACKEND_ABI_MAJOR;
  api.abi_minor = SLUICE_BACKEND_ABI_MINOR;
  api.name = "cpu";
  api.version = "0.1";
  api.packing_key = packing_key;
  api.create = create;
  api.destroy = destroy;
  api.device_count = device_count;
  api.device_describe = device_describe;
  api.op_query = op_query;
  api.packing_query = packing_query;
  api.pack = pack;
  api.kernel_create = kernel_create;
  api.kernel_destroy = kernel_destroy;
  api.memory_allocate = plugin::detail::memory_allocate;
  api.memory_free = plugin::detail::memory_free;
  api.group_create = group_create;
  api.group_destroy = group_destroy;
  api.stream_create = stream_create;
  api.stream_destroy = stream_destroy;
  api.stream_wait = stream_wait;
  api.list_create = list_create;
  api.list_destroy = list_destroy;
  api.list_add_kernel = list_add_kernel;
  api.list_add_copy = list_add_copy;
  api.list_finish = list_finish;
  api.list_submit = list_submit;
  api.find_extension = find_extension;
  return api;
}

}  // namespace
}  // namespace sluice::cpu

extern "C" SLUICE_PLUGIN_EXPORT const sluice_backend_api* sluice_backend_entry(
    uint16_t host_major, uint16_t, sluice_message* message) {
  if (host_major != SLUICE_BACKEND_ABI_MAJOR) {
    sluice::plugin::write_message(message, "cpu: made for another major version of the table");
    return nullptr;
  }
  static const sluice_backend_api kApi = sluice::cpu::make_table();
  return &kApi;
}
