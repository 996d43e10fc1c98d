#include "plugin/device_code.h"

namespace sluice::cuda {
namespace {

// The lowest architecture that CUDA 13 compiles for. Drivers make machine code of any later one.
constexpr int kCapability = 75;

// Texts whose PTX is kept: 4096 kernels of some 10 KiB.
constexpr std::size_t kMaxKept = 4096;

}  // namespace

Status check_call(const Driver& driver, CuResult result, std::string_view what) {
  Status status = check(result, what);
  if (status.is_ok() || driver.table.explain == nullptr) return status;
  if (const std::string more = driver.table.explain(); !more.empty()) status.text += ": " + more;
  return status;
}

Status KernelStore::find_ptx(const std::string& text, std::string* ptx) {
  if (const auto found = ptx_.find(text); found != ptx_.end()) {
    *ptx = found->second;
    return plugin::ok();
  }
  if (Status status = nvrtc_.compile(text, kCapability, ptx); !status.is_ok()) return status;
  if (ptx_.size() >= kMaxKept) ptx_.clear();
  ptx_.emplace(text, *ptx);
  return plugin::ok();
}

Status KernelStore::load(CuDevice device, const std::string& text,
                         std::shared_ptr<const LoadedKernel>* kernel) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const LoadedKernel>& known = loaded_[{device, text}];
  if ((*kernel = known.lock()) != nullptr) return plugin::ok();
  std::string ptx;
  if (Status status = find_ptx(text, &ptx); !status.is_ok()) return status;
  const DriverTable& cu = driver_.table;
  CuLibrary library = nullptr;
  Status status = check_call(
      driver_,
      cu.library_load_data(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      "loading a generated kernel");
  if (!status.is_ok()) return status;
  CuKernel handle = nullptr;
  CuFunction function = nullptr;
  CuResult result = cu.library_get_kernel(&handle, library, kKernelName);
  if (result == CuResult::kSuccess) result = cu.kernel_get_function(&function, handle);
  status = check_call(driver_, result, "finding a generated kernel");
  if (!status.is_ok()) {
    cu.library_unload(library);
    return status;
  }
  *kernel = std::make_shared<LoadedKernel>(driver_, library, function);
  std::erase_if(loaded_, [](const auto& entry) { return entry.second.expired(); });
  loaded_[{device, text}] = *kernel;
  return plugin::ok();
}

}  // namespace sluice::cuda
