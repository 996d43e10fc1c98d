// A complete plug-in from a list of kernel functions: one device, host memory, and command lists
// that run in order on the thread that submits them. It fits plug-ins that compute on the CPU, or
// call a library on the CPU. A plug-in with a device of its own fills sluice_backend_api itself.
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
  /// dimensions. Requires: as many as the output's rank, none larger than the output's.
  void set_actual_dims(int output, std::span<const std::int64_t> dims) const {
    std::int64_t* target = actual_dims_[count(output)];
    if (target != nullptr) std::ranges::copy(dims, target);
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
  /// All of them, the body's inputs last; for callers that pass them on.
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

#include "sluice/host_backend_table.hpp"
