// Fills the C table from a `HostBackend`. Included by host_backend.hpp; plug-in authors use only
// the macro at the end.
#pragma once

#include "sluice/host_backend.hpp"

namespace sluice::plugin::detail {

/// The C handles are pointers to these structs. The host never passes a handle of another plug-in.
struct Group {};
struct Stream {
  Status first_error;
};
struct Kernel {
  const sluice_op* op;
  std::unique_ptr<HostKernel> run;
};

/// A kernel with its arguments, or a copy (`kernel` null: one input, one output, `size_bytes`).
struct Command {
  const Kernel* kernel = nullptr;
  std::vector<sluice_argument> inputs;
  std::vector<sluice_argument> outputs;
  std::int64_t size_bytes = 0;
};
struct CommandList {
  std::vector<Command> commands;
  int num_bindings = 0;  ///< number of bindings that the commands use
  bool is_finished = false;
};

inline HostBackend* unwrap(sluice_backend* p) { return reinterpret_cast<HostBackend*>(p); }
inline Group* unwrap(sluice_group* p) { return reinterpret_cast<Group*>(p); }
inline Stream* unwrap(sluice_stream* p) { return reinterpret_cast<Stream*>(p); }
inline Kernel* unwrap(sluice_kernel* p) { return reinterpret_cast<Kernel*>(p); }
inline CommandList* unwrap(sluice_command_list* p) { return reinterpret_cast<CommandList*>(p); }

template <typename Handle, typename Object>
Handle* wrap(std::unique_ptr<Object> object) {
  return reinterpret_cast<Handle*>(object.release());
}

inline Status check_device(std::int32_t device) {
  if (device == 0) return ok();
  return {SLUICE_NOT_FOUND, "no device " + std::to_string(device) + "; there is one, 0"};
}

/// Copies the part of `source` that fits into the caller's struct.
template <typename Struct>
void copy_out(Struct source, Struct* target) {
  const std::uint32_t size = std::min<std::uint32_t>(target->struct_size, sizeof(Struct));
  source.struct_size = target->struct_size;
  std::memcpy(target, &source, size);
}

template <std::size_t N>
void copy_text(std::string_view text, char (&target)[N]) {
  sluice_message message = {target, N};
  write_message(&message, text);
}

// ---- backend and device -------------------------------------------------------------------------

inline void backend_destroy(sluice_backend* backend) { delete unwrap(backend); }

template <typename Backend>
sluice_code backend_create(const sluice_option* options, std::int32_t num_options,
                           sluice_backend** backend, sluice_message* message) {
  return guard(message, [&] {
    std::unique_ptr<HostBackend> made = std::make_unique<Backend>();
    for (std::int32_t i = 0; i < num_options; ++i) {
      Status status = made->set_option(options[i].name, options[i].value);
      if (!status.is_ok()) return status;
    }
    *backend = wrap<sluice_backend>(std::move(made));
    return ok();
  });
}

inline std::int32_t device_count(sluice_backend*) { return 1; }

inline sluice_code device_describe(sluice_backend* backend, std::int32_t device,
                                   sluice_device_info* info, sluice_message* message) {
  return guard(message, [&] {
    if (Status status = check_device(device); !status.is_ok()) return status;
    sluice_device_info told = {};
    told.flags = SLUICE_DEVICE_HOST_MEMORY;
    copy_text("cpu", told.kind);
    copy_text(unwrap(backend)->device_name(), told.name);
    told.num_cores = unwrap(backend)->num_cores();
    copy_out(told, info);
    return ok();
  });
}

// ---- operations ---------------------------------------------------------------------------------

inline sluice_code op_query(sluice_backend* backend, const sluice_op* op,
                            sluice_op_support* support, sluice_message* message) {
  return guard(message, [&] {
    const Status status = unwrap(backend)->check(*op);
    sluice_op_support told = {};
    told.supported = status.is_ok() ? 1 : 0;
    copy_out(told, support);
    write_message(message, status.text);
    return status.code == SLUICE_UNIMPLEMENTED ? ok() : status;
  });
}

inline Status check_input(const sluice_op& op, std::int32_t input) {
  if (input >= 0 && input < op.num_inputs) return ok();
  return {SLUICE_OUT_OF_RANGE, kind_of(op) + " has no input " + std::to_string(input)};
}

inline sluice_code packing_query(sluice_backend*, const sluice_op* op, std::int32_t input,
                                 sluice_packing* packing, sluice_message* message) {
  return guard(message, [&] {
    copy_out(sluice_packing{}, packing);
    return check_input(*op, input);
  });
}

inline sluice_code pack(sluice_backend*, const sluice_op* op, std::int32_t, void*,
                        sluice_message* message) {
  return guard(message, [&]() -> Status {
    return {SLUICE_FAILED_PRECONDITION, kind_of(*op) + " packs no input; packing_query said so"};
  });
}

/// Checks that the dimensions are known and that the size is that of a packed tensor.
inline Status check_tensor(const sluice_op& op, const sluice_tensor& tensor) {
  const int bits = element_bits(tensor.element_type);
  if (bits == 0) return ok();  // absent
  const std::int64_t count = num_elements(tensor);
  if (count < 0 || count > (INT64_MAX - 7) / bits) {
    return invalid_argument(kind_of(op) + ": dimensions " + to_string(dims_of(tensor)) +
                            " cannot be run");
  }
  if (tensor.size_bytes != (count * bits + 7) / 8) {
    return invalid_argument(kind_of(op) + ": " + std::to_string(tensor.size_bytes) +
                            " bytes given for dimensions " + to_string(dims_of(tensor)));
  }
  return ok();
}

inline Status check_tensors(const sluice_op& op) {
  for (const auto& operands : {inputs_of(op), outputs_of(op), body_inputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      if (Status status = check_tensor(op, operand.tensor); !status.is_ok()) return status;
    }
  }
  return ok();
}

inline sluice_code kernel_create(sluice_backend* backend, std::int32_t device, const sluice_op* op,
                                 sluice_kernel** kernel, sluice_kernel_info* info,
                                 sluice_message* message) {
  return guard(message, [&] {
    Status status = check_device(device);
    if (status.is_ok()) status = unwrap(backend)->check(*op);
    if (status.is_ok()) status = check_tensors(*op);
    auto made = std::make_unique<Kernel>();
    made->op = op;
    if (status.is_ok()) status = unwrap(backend)->make_kernel(*op, &made->run);
    if (!status.is_ok()) return status;
    sluice_kernel_info told = {};
    told.in_place_inputs = made->run->in_place_inputs();
    copy_out(told, info);
    *kernel = wrap<sluice_kernel>(std::move(made));
    return ok();
  });
}

inline void kernel_destroy(sluice_kernel* kernel) { delete unwrap(kernel); }

// ---- memory, groups, streams --------------------------------------------------------------------

inline sluice_code memory_allocate(sluice_backend*, std::int32_t device, std::int64_t size_bytes,
                                   void** address, sluice_message* message) {
  return guard(message, [&] {
    if (Status status = check_device(device); !status.is_ok()) return status;
    if (size_bytes < 0 || size_bytes > INT64_MAX - SLUICE_ALIGNMENT) {
      return invalid_argument("cannot allocate " + std::to_string(size_bytes) + " bytes");
    }
    const auto blocks = static_cast<std::size_t>(size_bytes) / SLUICE_ALIGNMENT + 1;
    *address = std::aligned_alloc(SLUICE_ALIGNMENT, blocks * SLUICE_ALIGNMENT);
    if (*address != nullptr) return ok();
    return Status{SLUICE_RESOURCE_EXHAUSTED,
                  "no memory for " + std::to_string(size_bytes) + " bytes"};
  });
}

inline void memory_free(sluice_backend*, std::int32_t, void* address) { std::free(address); }

inline sluice_code group_create(sluice_backend* backend, std::int32_t device,
                                const std::int32_t* cores, std::int32_t num_cores,
                                sluice_group** group, sluice_message* message) {
  return guard(message, [&] {
    if (Status status = check_device(device); !status.is_ok()) return status;
    const int limit = unwrap(backend)->num_cores();
    for (std::int32_t i = 0; i < num_cores; ++i) {
      if (cores[i] < 0 || cores[i] >= limit) {
        return Status{SLUICE_OUT_OF_RANGE, "no core " + std::to_string(cores[i]) + "; there are " +
                                               std::to_string(limit)};
      }
    }
    *group = wrap<sluice_group>(std::make_unique<Group>());
    return ok();
  });
}

inline void group_destroy(sluice_group* group) { delete unwrap(group); }

inline sluice_code stream_create(sluice_group*, sluice_stream** stream, sluice_message* message) {
  return guard(message, [&] {
    *stream = wrap<sluice_stream>(std::make_unique<Stream>());
    return ok();
  });
}

inline void stream_destroy(sluice_stream* stream) { delete unwrap(stream); }

inline sluice_code stream_wait(sluice_stream* stream, std::int64_t, sluice_message* message) {
  return guard(message, [&] { return std::exchange(unwrap(stream)->first_error, ok()); });
}

// ---- command lists ------------------------------------------------------------------------------

inline Status check_open(const CommandList& list) {
  if (!list.is_finished) return ok();
  return {SLUICE_FAILED_PRECONDITION, "the command list is finished"};
}

/// Checks that an argument is absent if and only if its operand is, and that a fixed address is not
/// null.
inline Status check_arguments(const Command& command) {
  const sluice_op& op = *command.kernel->op;
  std::size_t next = 0;
  const auto is_fit = [&](const sluice_operand& operand, const sluice_argument& argument) {
    if (is_absent(operand.tensor) != (argument.binding == -2)) return false;
    return argument.binding >= 0 || argument.address != nullptr || operand.tensor.size_bytes == 0;
  };
  for (const auto& operands : {inputs_of(op), body_inputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      if (!is_fit(operand, command.inputs[next])) {
        return invalid_argument(kind_of(op) + ": no address for input " + std::to_string(next));
      }
      ++next;
    }
  }
  for (std::size_t i = 0; i < command.outputs.size(); ++i) {
    if (!is_fit(op.outputs[i], command.outputs[i])) {
      return invalid_argument(kind_of(op) + ": no address for output " + std::to_string(i));
    }
  }
  return ok();
}

inline void add_command(CommandList& list, Command command) {
  for (const auto* arguments : {&command.inputs, &command.outputs}) {
    for (const sluice_argument& argument : *arguments) {
      const std::int32_t last =
          std::max(argument.binding, argument.texts > 0 ? argument.texts : -1);
      list.num_bindings = std::max(list.num_bindings, last + 1);
    }
  }
  list.commands.push_back(std::move(command));
}

inline sluice_code list_create(sluice_group*, sluice_command_list** list, sluice_message* message) {
  return guard(message, [&] {
    *list = wrap<sluice_command_list>(std::make_unique<CommandList>());
    return ok();
  });
}

inline void list_destroy(sluice_command_list* list) { delete unwrap(list); }

inline sluice_code list_add_kernel(sluice_command_list* list, sluice_kernel* kernel,
                                   const sluice_argument* inputs, std::int32_t num_inputs,
                                   const sluice_argument* outputs, std::int32_t num_outputs,
                                   sluice_message* message) {
  return guard(message, [&] {
    if (Status status = check_open(*unwrap(list)); !status.is_ok()) return status;
    const sluice_op& op = *unwrap(kernel)->op;
    if (num_inputs != op.num_inputs + op.num_body_inputs || num_outputs != op.num_outputs) {
      return invalid_argument(kind_of(op) + ": wrong number of arguments");
    }
    Command command;
    command.kernel = unwrap(kernel);
    command.inputs.assign(inputs, inputs + num_inputs);
    command.outputs.assign(outputs, outputs + num_outputs);
    if (Status status = check_arguments(command); !status.is_ok()) return status;
    add_command(*unwrap(list), std::move(command));
    return ok();
  });
}

inline sluice_code list_add_copy(sluice_command_list* list, const sluice_argument* source,
                                 const sluice_argument* target, std::int64_t size_bytes,
                                 sluice_message* message) {
  return guard(message, [&] {
    if (Status status = check_open(*unwrap(list)); !status.is_ok()) return status;
    if (size_bytes < 0) return invalid_argument("a copy of a negative number of bytes");
    Command command;
    command.inputs = {*source};
    command.outputs = {*target};
    command.size_bytes = size_bytes;
    add_command(*unwrap(list), std::move(command));
    return ok();
  });
}

inline sluice_code list_finish(sluice_command_list* list, sluice_message* message) {
  return guard(message, [&] {
    if (Status status = check_open(*unwrap(list)); !status.is_ok()) return status;
    unwrap(list)->is_finished = true;
    return ok();
  });
}

// ---- running ------------------------------------------------------------------------------------

inline void* address_of(const sluice_argument& argument, void* const* bindings) {
  if (argument.binding == -1) return argument.address;
  if (argument.binding < 0) return nullptr;
  return static_cast<std::byte*>(bindings[argument.binding]) + argument.offset_bytes;
}

/// The tensors that the operands describe, at the addresses that the arguments name.
inline void bind_tensors(std::span<const sluice_operand> operands,
                         std::span<const sluice_argument> from, void* const* bindings,
                         std::vector<sluice_tensor>& tensors) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    sluice_tensor tensor = operands[i].tensor;
    tensor.data = address_of(from[i], bindings);
    tensors.push_back(tensor);
  }
}

/// The pool for string outputs; null without one.
inline sluice_text_pool* find_texts(std::span<const sluice_argument> outputs,
                                    void* const* bindings) {
  for (const sluice_argument& output : outputs) {
    if (output.texts > 0) return static_cast<sluice_text_pool*>(bindings[output.texts]);
  }
  return nullptr;
}

inline Status run_command(const Command& command, void* const* bindings) {
  if (command.kernel == nullptr) {
    if (command.size_bytes > 0) {
      std::memmove(address_of(command.outputs[0], bindings),
                   address_of(command.inputs[0], bindings),
                   static_cast<std::size_t>(command.size_bytes));
    }
    return ok();
  }
  const sluice_op& op = *command.kernel->op;
  const std::span<const sluice_argument> arguments = command.inputs;
  const auto num_inputs = static_cast<std::size_t>(op.num_inputs);
  std::vector<sluice_tensor> inputs;
  std::vector<sluice_tensor> outputs;
  bind_tensors(inputs_of(op), arguments.first(num_inputs), bindings, inputs);
  bind_tensors(body_inputs_of(op), arguments.subspan(num_inputs), bindings, inputs);
  bind_tensors(outputs_of(op), command.outputs, bindings, outputs);
  std::vector<std::int64_t*> actual_dims;
  for (const sluice_argument& output : command.outputs) actual_dims.push_back(output.actual_dims);
  return command.kernel->run->run(
      Call(op, inputs, outputs, actual_dims, find_texts(command.outputs, bindings)));
}

inline Status run_list(const CommandList& list, void* const* bindings) {
  for (const Command& command : list.commands) {
    if (Status status = run_command(command, bindings); !status.is_ok()) return status;
  }
  return ok();
}

inline sluice_code list_submit(sluice_stream* stream, sluice_command_list* list,
                               void* const* bindings, std::int32_t num_bindings,
                               sluice_message* message) {
  return guard(message, [&] {
    if (!unwrap(list)->is_finished) {
      return Status{SLUICE_FAILED_PRECONDITION, "the command list is not finished"};
    }
    if (num_bindings < unwrap(list)->num_bindings) {
      return invalid_argument("the command list names " +
                              std::to_string(unwrap(list)->num_bindings) + " bindings, got " +
                              std::to_string(num_bindings));
    }
    Status& first_error = unwrap(stream)->first_error;
    Status ran = catch_all([&] { return run_list(*unwrap(list), bindings); });
    if (first_error.is_ok()) first_error = std::move(ran);
    return ok();
  });
}

template <typename Backend>
const sluice_backend_api* host_backend_api(const char* name, const char* version,
                                           std::uint16_t host_major, sluice_message* message) {
  if (host_major != SLUICE_BACKEND_ABI_MAJOR) {
    write_message(message, "made for another major version of the plug-in table");
    return nullptr;
  }
  static const sluice_backend_api kApi = [&] {
    sluice_backend_api api = {};
    api.struct_size = sizeof(sluice_backend_api);
    api.abi_major = SLUICE_BACKEND_ABI_MAJOR;
    api.abi_minor = SLUICE_BACKEND_ABI_MINOR;
    api.name = name;
    api.version = version;
    api.packing_key = [](sluice_backend*) { return ""; };
    api.create = backend_create<Backend>;
    api.destroy = backend_destroy;
    api.device_count = device_count;
    api.device_describe = device_describe;
    api.op_query = op_query;
    api.packing_query = packing_query;
    api.pack = pack;
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
    api.list_add_kernel = list_add_kernel;
    api.list_add_copy = list_add_copy;
    api.list_finish = list_finish;
    api.list_submit = list_submit;
    return api;
  }();
  return &kApi;
}

}  // namespace sluice::plugin::detail

/// Defines the entry of a plug-in. `Backend` derives from HostBackend and has a default
/// constructor; `name` equals the name in the file name of the plug-in.
#define SLUICE_HOST_BACKEND(Backend, name, version)                                               \
  extern "C" SLUICE_PLUGIN_EXPORT const sluice_backend_api* sluice_backend_entry(                 \
      uint16_t host_major, uint16_t, sluice_message* message) {                                   \
    return sluice::plugin::detail::host_backend_api<Backend>(name, version, host_major, message); \
  }
