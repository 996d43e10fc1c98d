#include "plugin/libraries/libraries.h"

#include <algorithm>
#include <vector>

namespace sluice::cuda {
namespace {

// A stream's workspaces are powers of two, so that it outgrows few.
constexpr std::size_t kMinWorkspaceBytes = std::size_t{1} << 20;
constexpr std::int64_t kAlignment = 256;

/// Memory for the operands of one run, and a stream. The driver's functions are called in the
/// device's context.
class Trial {
 public:
  /// Borrows the handle of cuDNN, which nobody else uses meanwhile.
  Trial(const DriverTable& driver, const Libraries& libraries, const DnnDevice& cudnn)
      : driver_(driver), libraries_(libraries), cudnn_(cudnn) {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    if (scratch_.cudnn != nullptr) cudnn_.table->set_stream(cudnn_.handle, nullptr);
    scratch_.cudnn = nullptr;
    libraries_.release(&scratch_);
    if (stream_ != nullptr) driver_.stream_destroy(stream_);
    if (memory_ != 0) driver_.mem_free(memory_);
  }

  Status run(const LibraryCall& call, const sluice_op& op) {
    std::vector<std::int64_t> places;
    std::int64_t bytes = 0;
    const auto place = [&](const sluice_operand& operand) {
      places.push_back(bytes);
      bytes += (operand.tensor.size_bytes / kAlignment + 1) * kAlignment;
    };
    std::ranges::for_each(plugin::inputs_of(op), place);
    std::ranges::for_each(plugin::body_inputs_of(op), place);
    place(op.outputs[0]);
    CuResult result = driver_.mem_alloc(&memory_, static_cast<std::size_t>(bytes));
    // A device that is nearly full runs the call without a trial.
    if (result == CuResult::kOutOfMemory) return plugin::ok();
    if (result == CuResult::kSuccess) {
      result = driver_.stream_create_with_priority(&stream_, kStreamNonBlocking, 0);
    }
    Status status = check(result, "making room for a library's first run");
    if (status.is_ok() && call.needs().cudnn) {
      scratch_.cudnn = cudnn_.handle;
      status = check(*cudnn_.table, cudnn_.table->set_stream(cudnn_.handle, stream_),
                     "giving cuDNN a stream");
    }
    if (status.is_ok()) status = libraries_.prepare(stream_, call.needs(), &scratch_);
    if (!status.is_ok()) return status;
    std::vector<void*> addresses;
    for (const std::int64_t offset : places) {
      addresses.push_back(reinterpret_cast<void*>(memory_ + static_cast<CuDevicePointer>(offset)));
    }
    const std::span<void* const> inputs(addresses.data(), addresses.size() - 1);
    status = call.run({stream_, &scratch_, 0, inputs, addresses.back()});
    const CuResult ended = driver_.stream_synchronize(stream_);
    return status.is_ok() ? check(ended, "a library's first run") : status;
  }

 private:
  const DriverTable& driver_;
  const Libraries& libraries_;
  const DnnDevice& cudnn_;
  CuDevicePointer memory_ = 0;
  CuStream stream_ = nullptr;
  LibraryStream scratch_;
};

}  // namespace

Libraries::Device& Libraries::device_of(CuDevice device) {
  const std::lock_guard lock(mutex_);
  return devices_[device];
}

Status Libraries::open_cublaslt_on(LtDevice* opened) {
  std::call_once(cublaslt_once_,
                 [&] { cublaslt_status_ = open_cublaslt(options_.cublaslt, &cublaslt_); });
  if (!cublaslt_status_.is_ok() || opened->handle != nullptr) return cublaslt_status_;
  *opened = {&cublaslt_, nullptr, options_.rounds_to_tf32};
  return check(cublaslt_, cublaslt_.create(&opened->handle), "starting cuBLASLt");
}

Status Libraries::open_cudnn_on(DnnDevice* opened) {
  std::call_once(cudnn_once_, [&] { cudnn_status_ = open_cudnn(options_.cudnn, &cudnn_); });
  if (!cudnn_status_.is_ok() || opened->handle != nullptr) return cudnn_status_;
  *opened = {&cudnn_, nullptr, nullptr, options_.rounds_to_tf32};
  return check(cudnn_, cudnn_.create(&opened->handle), "starting cuDNN");
}

Status Libraries::plan(CuDevice device, const sluice_op& op, int* num_steps,
                       std::unique_ptr<const LibraryCall>* call) {
  const std::string kind = plugin::kind_of(op);
  const bool is_product = kind == "Gemm" || kind == "MatMul";
  const bool is_convolution = kind == "Conv" && options_.convolve;
  if (!options_.are_used || (!is_product && !is_convolution)) {
    return plugin::unimplemented("no library computes " + kind);
  }
  Device& opened = device_of(device);
  const std::lock_guard lock(opened.mutex);
  Epilogue epilogue;
  Status status = is_product ? open_cublaslt_on(&opened.cublaslt) : open_cudnn_on(&opened.cudnn);
  if (status.is_ok()) {
    status = is_product ? plan_product(opened.cublaslt, op, &epilogue, call)
                        : plan_convolution(opened.cudnn, op, &epilogue, call);
  }
  if (status.is_ok()) status = Trial(driver_, *this, opened.cudnn).run(**call, op);
  if (!status.is_ok()) call->reset();
  *num_steps = epilogue.num_steps;
  return status;
}

Status Libraries::prepare(CuStream stream, const LibraryNeeds& needs, LibraryStream* made) const {
  if (needs.cudnn && made->cudnn == nullptr) {
    Status status = check(cudnn_, cudnn_.create(&made->cudnn), "starting cuDNN for a stream");
    if (status.is_ok()) {
      status = check(cudnn_, cudnn_.set_stream(made->cudnn, stream), "giving cuDNN a stream");
    }
    if (!status.is_ok()) return status;
  }
  if (needs.workspace_bytes <= made->workspace_bytes) return plugin::ok();
  std::size_t bytes = kMinWorkspaceBytes;
  while (bytes < needs.workspace_bytes) bytes *= 2;
  CuDevicePointer memory = 0;
  Status status = check(driver_.mem_alloc(&memory, bytes),
                        "allocating " + std::to_string(bytes) + " bytes for calls of libraries");
  if (!status.is_ok()) return status;
  if (made->workspace != 0) made->outgrown.push_back(made->workspace);
  made->workspace = memory;
  made->workspace_bytes = bytes;
  return status;
}

void Libraries::release(LibraryStream* made) const {
  if (made->cudnn != nullptr) cudnn_.destroy(made->cudnn);
  if (made->workspace != 0) driver_.mem_free(made->workspace);
  for (const CuDevicePointer memory : made->outgrown) driver_.mem_free(memory);
  *made = {};
}

void Libraries::close(CuDevice device) {
  const std::lock_guard lock(mutex_);
  const auto opened = devices_.find(device);
  if (opened == devices_.end()) return;
  if (opened->second.cublaslt.handle != nullptr) cublaslt_.destroy(opened->second.cublaslt.handle);
  if (opened->second.cudnn.handle != nullptr) cudnn_.destroy(opened->second.cudnn.handle);
  devices_.erase(opened);
}

}  // namespace sluice::cuda
