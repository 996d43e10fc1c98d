#include "plugin/libraries/libraries.h"

#include <algorithm>
#include <vector>

namespace sluice::cuda {
namespace {

/// Memory and a stream for one run. The driver's functions are called in the device's context.
class Trial {
 public:
  explicit Trial(const DriverTable& driver) : driver_(driver) {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    if (stream_ != nullptr) driver_.stream_destroy(stream_);
    if (memory_ != 0) driver_.mem_free(memory_);
  }

  Status run(const LibraryCall& call, const sluice_op& op) {
    const DriverTable& cu = driver_;
    std::vector<std::int64_t> places;
    std::int64_t bytes = kWorkspaceBytes;
    const auto place = [&](const sluice_operand& operand) {
      places.push_back(bytes);
      bytes += (operand.tensor.size_bytes / kAlignment + 1) * kAlignment;
    };
    std::ranges::for_each(plugin::inputs_of(op), place);
    std::ranges::for_each(plugin::body_inputs_of(op), place);
    place(op.outputs[0]);
    CuResult result = cu.mem_alloc(&memory_, static_cast<std::size_t>(bytes));
    // A device that is nearly full runs the call without a trial.
    if (result == CuResult::kOutOfMemory) return plugin::ok();
    if (result == CuResult::kSuccess) {
      result = cu.stream_create_with_priority(&stream_, kStreamNonBlocking, 0);
    }
    Status status = check(result, "making room for a library's first run");
    if (!status.is_ok()) return status;
    std::vector<void*> addresses;
    for (const std::int64_t offset : places) {
      addresses.push_back(reinterpret_cast<void*>(memory_ + static_cast<CuDevicePointer>(offset)));
    }
    const LibraryStream scratch = {memory_};
    const std::span<void* const> inputs(addresses.data(), addresses.size() - 1);
    status = call.run({stream_, &scratch, 0, inputs, addresses.back()});
    if (!status.is_ok()) return status;
    return check(cu.stream_synchronize(stream_), "a library's first run");
  }

 private:
  static constexpr std::int64_t kAlignment = 256;

  const DriverTable& driver_;
  CuDevicePointer memory_ = 0;
  CuStream stream_ = nullptr;
};

}  // namespace

Status Libraries::open_cublaslt_once() {
  std::call_once(once_, [&] { opened_ = open_cublaslt(options_.cublaslt, &cublaslt_); });
  return opened_;
}

Status Libraries::open_device(CuDevice device, const LtDevice** opened) {
  if (Status status = open_cublaslt_once(); !status.is_ok()) return status;
  const std::lock_guard lock(mutex_);
  if (const auto known = devices_.find(device); known != devices_.end()) {
    *opened = &known->second;
    return plugin::ok();
  }
  LtHandle handle = nullptr;
  Status status = check(cublaslt_, cublaslt_.create(&handle), "starting cuBLASLt");
  if (!status.is_ok()) return status;
  *opened = &devices_.emplace(device, LtDevice{&cublaslt_, handle, options_.rounds_to_tf32})
                 .first->second;
  return status;
}

Status Libraries::plan(CuDevice device, const sluice_op& op, int* num_steps,
                       std::unique_ptr<const LibraryCall>* call) {
  const std::string kind = plugin::kind_of(op);
  if (!options_.are_used || (kind != "Gemm" && kind != "MatMul")) {
    return plugin::unimplemented("no library computes " + kind);
  }
  const LtDevice* opened = nullptr;
  Epilogue epilogue;
  Status status = open_device(device, &opened);
  if (status.is_ok()) status = plan_product(*opened, op, &epilogue, call);
  if (status.is_ok()) status = try_once(**call, op);
  if (!status.is_ok()) call->reset();
  *num_steps = epilogue.num_steps;
  return status;
}

Status Libraries::try_once(const LibraryCall& call, const sluice_op& op) const {
  return Trial(driver_).run(call, op);
}

Status Libraries::prepare(LibraryStream* stream) const {
  if (stream->workspace != 0) return plugin::ok();
  return check(driver_.mem_alloc(&stream->workspace, kWorkspaceBytes),
               "allocating the libraries' scratch memory of a stream");
}

void Libraries::release(LibraryStream* stream) const {
  if (stream->workspace != 0) driver_.mem_free(stream->workspace);
  *stream = {};
}

void Libraries::close(CuDevice device) {
  const std::lock_guard lock(mutex_);
  const auto opened = devices_.find(device);
  if (opened == devices_.end()) return;
  cublaslt_.destroy(opened->second.handle);
  devices_.erase(opened);
}

}  // namespace sluice::cuda
