#include "plugin/libraries/testing/run_op.h"

namespace sluice::cuda::testing {
namespace {

std::vector<const sluice_tensor*> inputs_and_body(const sluice_op& op) {
  std::vector<const sluice_tensor*> tensors;
  for (const auto& operands : {plugin::inputs_of(op), plugin::body_inputs_of(op)}) {
    for (const sluice_operand& operand : operands) tensors.push_back(&operand.tensor);
  }
  return tensors;
}

/// Memory of device 0.
class DeviceBytes {
 public:
  DeviceBytes(Backend& backend, std::int64_t bytes) : backend_(backend) {
    status = backend.allocate(0, bytes, &address);
  }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes() {
    if (address != nullptr) backend_.release(0, address);
  }

  Status status;
  void* address = nullptr;

 private:
  Backend& backend_;
};

sluice_argument at(void* address) { return {-1, 0, address, 0, nullptr}; }

/// A stream with the work of one kernel.
class OneKernel {
 public:
  /// `source`, if not null, is the kernel.
  OneKernel(Backend& backend, Group& group, const sluice_op& op, const Source* source = nullptr)
      : backend_(backend), op_(op) {
    status_ = source == nullptr ? backend.make_kernel(0, op, nullptr, &kernel_) : make(*source);
    if (status_.is_ok()) status_ = backend.make_stream(group, &stream_);
    for (const sluice_tensor* tensor : inputs_and_body(op)) add(*tensor, &inputs_);
    add(op.outputs[0].tensor, &outputs_);
  }
  OneKernel(const OneKernel&) = delete;
  OneKernel& operator=(const OneKernel&) = delete;
  ~OneKernel() {
    if (stream_ != nullptr) backend_.destroy_stream(*stream_);
  }

  RunResult run(const std::vector<std::vector<float>>& inputs, int repeats) {
    RunResult result;
    const sluice_element_type type = op_.outputs[0].tensor.element_type;
    const std::vector<const sluice_tensor*> tensors = inputs_and_body(op_);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (plugin::is_absent(*tensors[i])) continue;
      const std::vector<std::byte> bytes = encode(tensors[i]->element_type, inputs[i]);
      copy(const_cast<std::byte*>(bytes.data()), inputs_[i].address, bytes.size());
    }
    launch(1);
    std::vector<std::byte> bytes(static_cast<std::size_t>(op_.outputs[0].tensor.size_bytes));
    copy(outputs_[0].address, bytes.data(), bytes.size());
    if (status_.is_ok() && repeats > 1) result.microseconds = time(repeats);
    result.status = status_;
    if (!status_.is_ok()) return result;
    result.output = decode(type, bytes);
    if (kernel_->library != nullptr) {
      result.library = kernel_->library->library();
      result.has_tail = kernel_->code != nullptr;
    }
    return result;
  }

 private:
  Status make(const Source& source) {
    kernel_ = std::make_unique<Kernel>();
    kernel_->op = &op_;
    kernel_->backend = &backend_;
    kernel_->source = source;
    kernel_->num_blocks = source.grid[0];
    Status status = backend_.enter(0);
    if (!status.is_ok()) return status;
    return backend_.store().load(0, source.text, &kernel_->code);
  }
  void add(const sluice_tensor& tensor, std::vector<sluice_argument>* arguments) {
    if (plugin::is_absent(tensor)) {
      arguments->push_back({-2, 0, nullptr, 0, nullptr});
      return;
    }
    memory_.push_back(std::make_unique<DeviceBytes>(backend_, tensor.size_bytes));
    if (status_.is_ok()) status_ = memory_.back()->status;
    arguments->push_back(at(memory_.back()->address));
  }
  void submit(CommandList& list) {
    if (status_.is_ok()) status_ = plugin::detail::finish_list(list);
    if (status_.is_ok()) status_ = backend_.submit(*stream_, list, {});
  }
  void copy(void* from, void* to, std::size_t bytes) {
    CommandList list;
    if (status_.is_ok()) {
      status_ =
          plugin::detail::record_copy(list, at(from), at(to), static_cast<std::int64_t>(bytes));
    }
    submit(list);
    if (status_.is_ok()) status_ = backend_.wait(*stream_, -1);
  }
  void launch(int repeats) {
    CommandList list;
    if (status_.is_ok() && kernel_->library != nullptr) list.needs = kernel_->library->needs();
    for (int i = 0; i < repeats && status_.is_ok(); ++i) {
      status_ = plugin::detail::record_kernel(list, *kernel_, inputs_, outputs_);
    }
    submit(list);
  }
  float time(int repeats) {
    const DriverTable& cu = backend_.driver().table;
    CuEvent start = nullptr;
    CuEvent end = nullptr;
    float milliseconds = 0;
    cu.event_create(&start, 0);
    cu.event_create(&end, 0);
    launch(repeats);
    cu.event_record(start, stream_->handle);
    launch(repeats);
    cu.event_record(end, stream_->handle);
    if (status_.is_ok()) status_ = backend_.wait(*stream_, -1);
    cu.event_elapsed_time(&milliseconds, start, end);
    cu.event_destroy(start);
    cu.event_destroy(end);
    return milliseconds * 1000 / static_cast<float>(repeats);
  }

  Backend& backend_;
  const sluice_op& op_;
  Status status_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<DeviceBytes>> memory_;
  std::vector<sluice_argument> inputs_, outputs_;
};

}  // namespace

RunResult run_op(Backend& backend, Group& group, const sluice_op& op,
                 const std::vector<std::vector<float>>& inputs, int repeats) {
  return OneKernel(backend, group, op).run(inputs, repeats);
}

RunResult run_source(Backend& backend, Group& group, const sluice_op& op, const Source& source,
                     const std::vector<std::vector<float>>& inputs) {
  return OneKernel(backend, group, op, &source).run(inputs, 1);
}

RunResult run_op(Backend& backend, Group& group, const sluice_op& op, int repeats) {
  std::vector<std::vector<float>> inputs;
  for (const sluice_tensor* tensor : inputs_and_body(op)) {
    inputs.push_back(some_numbers(*tensor, static_cast<unsigned>(inputs.size() + 1)));
  }
  return run_op(backend, group, op, inputs, repeats);
}

}  // namespace sluice::cuda::testing
