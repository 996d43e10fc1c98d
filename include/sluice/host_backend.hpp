// A complete plug-in from a list of kernel functions: one device, host memory, and command lists
// that run in order on the thread that submits them. It fits plug-ins that compute on the CPU, or
// call a library on the CPU, with memory of the host or of their own. A plug-in with streams of its
// own fills the table by sluice/plugin_table.hpp.
//
//   Status relu(const Call& call) { ... }
//   const KernelEntry kKernels[] = {{.kind = "Relu", .run = relu}};
//   class MyBackend : public HostBackend {
//    public:
//     MyBackend() : HostBackend(kKernels) {}
//   };
//   SLUICE_HOST_BACKEND(MyBackend, "mine", "1.0")
#pragma once

#include <cstdlib>
#include <memory>
#include <thread>

#include "sluice/backend.hpp"
#include "sluice/plugin_table.hpp"

namespace sluice::plugin {

/// One run of an operation: its tensors with data. Valid during the call of the kernel.
class Call {
 public:
  Call(const sluice_op& op, std::span<const sluice_tensor> inputs,
       std::span<const sluice_tensor> outputs, std::span<std::int64_t* const> actual_dims,
       sluice_text_pool* texts = nullptr)
      : op_(op), inputs_(inputs), outputs_(outputs), actual_dims_(actual_dims), texts_(texts) {}

  const sluice_op& op() const { return op_; }
  Attributes attributes() const { return op_; }
  int version() const { return op_.version; }

  /// The operator's inputs, without the body's. An index past the end gives an absent tensor.
  int num_inputs() const { return op_.num_inputs; }
  bool has_input(int index) const { return !is_absent(input(index)); }
  const sluice_tensor& input(int index) const {
    return at(inputs_.first(count(num_inputs())), index);
  }
  template <typename T>
  std::span<const T> input_elements(int index) const {
    return elements<const T>(input(index));
  }

  std::span<const sluice_tensor> body_inputs() const {
    return inputs_.subspan(count(num_inputs()));
  }

  int num_outputs() const { return op_.num_outputs; }
  bool has_output(int index) const { return !is_absent(output(index)); }
  const sluice_tensor& output(int index) const { return at(outputs_, index); }
  template <typename T>
  std::span<T> output_elements(int index) const {
    return elements<T>(output(index));
  }

  /// Sets the dimensions of an output whose shape depends on data. The elements are packed to these
  /// dimensions. The run fails unless they are as many as the output's and none is larger.
  void set_actual_dims(int index, std::span<const std::int64_t> dims) const {
    std::int64_t* target = actual_dims_[count(index)];
    if (target == nullptr) return;
    if (dims.size() == count(output(index).rank)) {
      std::ranges::copy(dims, target);
    } else {
      std::fill_n(target, output(index).rank, -1);  // which the host refuses
    }
  }

  /// Copies `text` to memory that outlives the call and returns an element for a string output.
  /// Safe across threads. Throws std::bad_alloc, which becomes SLUICE_RESOURCE_EXHAUSTED.
  sluice_text keep(std::string_view text) const {
    if (text.empty()) return {};
    const auto size = static_cast<std::int64_t>(text.size());
    char* kept = texts_ != nullptr ? texts_->allocate(texts_, size) : nullptr;
    if (kept == nullptr) throw std::bad_alloc();
    std::memcpy(kept, text.data(), text.size());
    return {kept, size};
  }
  /// All inputs, the body's last; for callers that pass them on.
  std::span<const sluice_tensor> inputs() const { return inputs_; }
  std::span<const sluice_tensor> outputs() const { return outputs_; }
  std::span<std::int64_t* const> actual_dims() const { return actual_dims_; }
  /// The pool of string outputs; null without one.
  sluice_text_pool* texts() const { return texts_; }

 private:
  static std::size_t count(int value) { return static_cast<std::size_t>(value); }
  static const sluice_tensor& at(std::span<const sluice_tensor> tensors, int index) {
    static constexpr sluice_tensor kNone = {};
    return count(index) < tensors.size() ? tensors[count(index)] : kNone;
  }

  const sluice_op& op_;
  std::span<const sluice_tensor> inputs_;  // the operator's, then the body's
  std::span<const sluice_tensor> outputs_;
  std::span<std::int64_t* const> actual_dims_;  // [outputs], each may be null
  sluice_text_pool* texts_;
};

/// An operator's implementation. Both functions may be called by several threads at once.
struct KernelEntry {
  const char* domain = "";
  const char* kind = nullptr;
  Status (*run)(const Call& call) = nullptr;
  /// Ok if `run` supports the types, ranks and attributes of `op`, whose dimensions may be unknown
  /// (-1). Otherwise a reason: `unimplemented("Relu: element type 8")`. Null: `run` supports all.
  Status (*check)(const sluice_op& op) = nullptr;
};

/// An operation ready to run. Immutable: several threads call `run` at once.
class HostKernel {
 public:
  virtual ~HostKernel() = default;
  virtual Status run(const Call& call) const = 0;
  /// The bit mask sluice_kernel_info::in_place_inputs.
  virtual std::uint32_t in_place_inputs() const { return 0; }
};

/// Base class of a backend: derive, pass a list of kernels, override functions as needed. Member
/// functions may be called by several threads at once, except set_option, which the host calls
/// before all others. Exceptions become SLUICE_INTERNAL.
class HostBackend {
 public:
  /// `kernels` outlive the backend.
  explicit HostBackend(std::span<const KernelEntry> kernels) : kernels_(kernels) {}
  virtual ~HostBackend() = default;
  HostBackend(const HostBackend&) = delete;
  HostBackend& operator=(const HostBackend&) = delete;

  /// Called once per option when the backend is created.
  virtual Status set_option(std::string_view name, std::string_view /*value*/) {
    return invalid_argument("unknown option \"" + std::string(name) + "\"");
  }

  /// The display name of the device, such as "portable C++".
  virtual std::string device_name() const { return "host"; }
  virtual int num_cores() const {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }

  /// "cpu", "gpu", ...
  virtual std::string device_kind() const { return "cpu"; }
  /// SLUICE_DEVICE_...: without HOST_MEMORY the host copies tensors to memory of `allocate`.
  virtual std::uint32_t device_flags() const { return SLUICE_DEVICE_HOST_MEMORY; }
  virtual Status allocate(std::int64_t size_bytes, void** address) const;
  virtual void release(void* address) const { std::free(address); }
  /// Where kernels and copies find `address`, which lies in memory of `allocate` or of the host.
  virtual void* reach(void* address) const { return address; }

  /// Ok if make_kernel supports `op`, otherwise the reason. The default accepts operators of the
  /// list with row-major operands and without a fused body.
  virtual Status check(const sluice_op& op) const;

  /// Creates a kernel for an operation that passed `check`. All dimensions are known, and `op`
  /// outlives the kernel. The default wraps the entry's `run`.
  virtual Status make_kernel(const sluice_op& op, std::unique_ptr<HostKernel>* kernel) const;

 protected:
  const KernelEntry* find(const sluice_op& op) const {
    for (const KernelEntry& entry : kernels_) {
      if (std::string_view(entry.kind) == op.kind && std::string_view(entry.domain) == op.domain) {
        return &entry;
      }
    }
    return nullptr;
  }

 private:
  std::span<const KernelEntry> kernels_;
};

/// Ok if every operand of `op` is row-major.
inline Status check_row_major(const sluice_op& op) {
  for (const auto& operands : {inputs_of(op), outputs_of(op), body_inputs_of(op)}) {
    for (const sluice_operand& operand : operands) {
      if (operand.tensor.layout != SLUICE_LAYOUT_ROW_MAJOR) {
        return unimplemented(kind_of(op) + ": operands must be row-major");
      }
    }
  }
  return ok();
}

inline Status HostBackend::allocate(std::int64_t size_bytes, void** address) const {
  return detail::allocate_aligned(size_bytes, address);
}

inline Status HostBackend::check(const sluice_op& op) const {
  const KernelEntry* entry = find(op);
  if (entry == nullptr) return unimplemented("no kernel for " + kind_of(op));
  if (op.body != nullptr) return unimplemented(kind_of(op) + ": fused bodies are not supported");
  if (Status status = check_row_major(op); !status.is_ok()) return status;
  return entry->check != nullptr ? entry->check(op) : ok();
}

/// A kernel that is a plain function.
class FunctionKernel : public HostKernel {
 public:
  explicit FunctionKernel(Status (*function)(const Call&)) : function_(function) {}
  Status run(const Call& call) const override { return function_(call); }

 private:
  Status (*function_)(const Call&);
};

inline Status HostBackend::make_kernel(const sluice_op& op,
                                       std::unique_ptr<HostKernel>* kernel) const {
  *kernel = std::make_unique<FunctionKernel>(find(op)->run);
  return ok();
}

}  // namespace sluice::plugin

// ---- the table ----------------------------------------------------------------------------------
//
// Command lists record kernels and copies; streams run them in order on the thread that submits.

namespace sluice::plugin::detail {

struct Group {
  const HostBackend* backend = nullptr;
};
struct Stream {
  const HostBackend* backend = nullptr;
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

// ---- operations ---------------------------------------------------------------------------------

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

inline Status record_kernel(CommandList& list, const Kernel& kernel,
                            std::span<const sluice_argument> inputs,
                            std::span<const sluice_argument> outputs) {
  if (Status status = check_open(list); !status.is_ok()) return status;
  const sluice_op& op = *kernel.op;
  const auto count = [](std::int32_t number) { return static_cast<std::size_t>(number); };
  if (inputs.size() != count(op.num_inputs + op.num_body_inputs) ||
      outputs.size() != count(op.num_outputs)) {
    return invalid_argument(kind_of(op) + ": wrong number of arguments");
  }
  Command command;
  command.kernel = &kernel;
  command.inputs.assign(inputs.begin(), inputs.end());
  command.outputs.assign(outputs.begin(), outputs.end());
  if (Status status = check_arguments(command); !status.is_ok()) return status;
  add_command(list, std::move(command));
  return ok();
}

inline Status record_copy(CommandList& list, const sluice_argument& source,
                          const sluice_argument& target, std::int64_t size_bytes) {
  if (Status status = check_open(list); !status.is_ok()) return status;
  if (size_bytes < 0) return invalid_argument("a copy of a negative number of bytes");
  add_command(list, {nullptr, {source}, {target}, size_bytes});
  return ok();
}

inline Status finish_list(CommandList& list) {
  if (Status status = check_open(list); !status.is_ok()) return status;
  list.is_finished = true;
  return ok();
}

/// Checks a submission of the list.
inline Status check_ready(const CommandList& list, std::size_t num_bindings) {
  if (!list.is_finished) return {SLUICE_FAILED_PRECONDITION, "the command list is not finished"};
  if (num_bindings >= static_cast<std::size_t>(list.num_bindings)) return ok();
  return {SLUICE_FAILED_PRECONDITION, "the command list names " +
                                          std::to_string(list.num_bindings) + " bindings, got " +
                                          std::to_string(num_bindings)};
}

// ---- running ------------------------------------------------------------------------------------

inline void* address_of(const sluice_argument& argument, std::span<void* const> bindings) {
  if (argument.binding == -1) return argument.address;
  if (argument.binding < 0) return nullptr;
  return static_cast<std::byte*>(bindings[static_cast<std::size_t>(argument.binding)]) +
         argument.offset_bytes;
}

/// The tensors that the operands describe, at the addresses that the arguments name.
inline void bind_tensors(std::span<const sluice_operand> operands,
                         std::span<const sluice_argument> from, std::span<void* const> bindings,
                         std::vector<sluice_tensor>& tensors) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    sluice_tensor tensor = operands[i].tensor;
    tensor.data = address_of(from[i], bindings);
    tensors.push_back(tensor);
  }
}

/// The pool for string outputs; null without one.
inline sluice_text_pool* find_texts(std::span<const sluice_argument> outputs,
                                    std::span<void* const> bindings) {
  for (const sluice_argument& output : outputs) {
    if (output.texts <= 0) continue;
    return static_cast<sluice_text_pool*>(bindings[static_cast<std::size_t>(output.texts)]);
  }
  return nullptr;
}

/// `reach` turns the address of a tensor into one that this thread reads and writes.
template <typename Reach>
Status run_command(const Command& command, std::span<void* const> bindings, const Reach& reach) {
  if (command.kernel == nullptr) {
    if (command.size_bytes > 0) {
      std::memmove(reach(address_of(command.outputs[0], bindings)),
                   reach(address_of(command.inputs[0], bindings)),
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
  for (auto* tensors : {&inputs, &outputs}) {
    for (sluice_tensor& tensor : *tensors) tensor.data = reach(tensor.data);
  }
  std::vector<std::int64_t*> actual_dims;
  for (const sluice_argument& output : command.outputs) actual_dims.push_back(output.actual_dims);
  return at_node(op, command.kernel->run->run(Call(op, inputs, outputs, actual_dims,
                                                   find_texts(command.outputs, bindings))));
}

inline Status run_command(const Command& command, std::span<void* const> bindings) {
  return run_command(command, bindings, [](void* address) { return address; });
}

inline Status run_list(const HostBackend& backend, const CommandList& list,
                       std::span<void* const> bindings) {
  const auto reach = [&](void* address) { return backend.reach(address); };
  for (const Command& command : list.commands) {
    if (Status status = run_command(command, bindings, reach); !status.is_ok()) return status;
  }
  return ok();
}

}  // namespace sluice::plugin::detail

namespace sluice::plugin {

/// The plug-in of `Class`, which derives from HostBackend; lacks its name and version.
template <typename Class>
struct HostPlugin : PluginDefaults {
  using Backend = HostBackend;
  using Group = detail::Group;
  using Stream = detail::Stream;
  using Kernel = detail::Kernel;
  using CommandList = detail::CommandList;

  static Status create(std::span<const sluice_option> options, Backend** backend) {
    std::unique_ptr<HostBackend> made = std::make_unique<Class>();
    for (const sluice_option& option : options) {
      Status status = made->set_option(option.name, option.value);
      if (!status.is_ok()) return status;
    }
    *backend = made.release();
    return ok();
  }

  static Status describe(Backend& backend, std::int32_t device, sluice_device_info& info) {
    if (Status status = detail::check_device(device); !status.is_ok()) return status;
    info.flags = backend.device_flags();
    detail::copy_text(backend.device_kind(), info.kind);
    detail::copy_text(backend.device_name(), info.name);
    info.num_cores = backend.num_cores();
    return ok();
  }

  static Status query(Backend& backend, const sluice_op& op, sluice_op_support& /*support*/) {
    return backend.check(op);
  }

  static Status make_kernel(Backend& backend, std::int32_t device, const sluice_op& op,
                            Kernel** kernel, sluice_kernel_info& info) {
    Status status = detail::check_device(device);
    if (status.is_ok()) status = backend.check(op);
    if (status.is_ok()) status = detail::check_tensors(op);
    auto made = std::make_unique<Kernel>();
    made->op = &op;
    if (status.is_ok()) status = backend.make_kernel(op, &made->run);
    if (!status.is_ok()) return at_node(op, std::move(status));
    info.in_place_inputs = made->run->in_place_inputs();
    *kernel = made.release();
    return ok();
  }

  static Status allocate(Backend& backend, std::int32_t device, std::int64_t size_bytes,
                         void** address) {
    const Status status = detail::check_device(device);
    return status.is_ok() ? backend.allocate(size_bytes, address) : status;
  }
  static void release(Backend& backend, std::int32_t /*device*/, void* address) {
    backend.release(address);
  }

  static Status make_group(Backend& backend, std::int32_t device,
                           std::span<const std::int32_t> cores, Group** group) {
    if (Status status = detail::check_device(device); !status.is_ok()) return status;
    const int limit = backend.num_cores();
    for (const std::int32_t core : cores) {
      if (core >= 0 && core < limit) continue;
      return {SLUICE_OUT_OF_RANGE,
              "no core " + std::to_string(core) + "; there are " + std::to_string(limit)};
    }
    *group = new Group{&backend};
    return ok();
  }

  static Status make_stream(Group& group, Stream** stream) {
    *stream = new Stream{group.backend, {}};
    return ok();
  }
  static Status wait(Stream& stream, std::int64_t /*timeout_ns*/) {
    return std::exchange(stream.first_error, ok());
  }
  static Status submit(Stream& stream, CommandList& list, std::span<void* const> bindings) {
    if (Status status = detail::check_ready(list, bindings.size()); !status.is_ok()) return status;
    Status ran = catch_all([&] { return detail::run_list(*stream.backend, list, bindings); });
    if (stream.first_error.is_ok()) stream.first_error = std::move(ran);
    return ok();
  }

  static Status make_list(Group& /*group*/, CommandList** list) {
    *list = new CommandList;
    return ok();
  }
  static Status add_kernel(CommandList& list, const Kernel& kernel,
                           std::span<const sluice_argument> inputs,
                           std::span<const sluice_argument> outputs) {
    return detail::record_kernel(list, kernel, inputs, outputs);
  }
  static Status add_copy(CommandList& list, const sluice_argument& source,
                         const sluice_argument& target, std::int64_t size_bytes) {
    return detail::record_copy(list, source, target, size_bytes);
  }
  static Status finish(CommandList& list) { return detail::finish_list(list); }
};

}  // namespace sluice::plugin

/// Defines the entry of a plug-in. `Class` derives from HostBackend and has a default constructor;
/// `name` equals the name in the file name of the plug-in.
#define SLUICE_HOST_BACKEND(Class, name, version)               \
  namespace {                                                   \
  struct SluiceHostPlugin : sluice::plugin::HostPlugin<Class> { \
    static constexpr const char* kName = name;                  \
    static constexpr const char* kVersion = version;            \
  };                                                            \
  }                                                             \
  SLUICE_PLUGIN(SluiceHostPlugin)
