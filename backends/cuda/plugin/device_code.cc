#include "plugin/device_code.h"

#include <algorithm>
#include <charconv>
#include <tuple>

namespace sluice::cuda {
namespace {

// Texts whose code is kept: 4096 kernels of some 10 to 50 KiB.
constexpr std::size_t kMaxKept = 4096;

// The latest PTX that the emulator was tried with; later compilers may use instructions it lacks.
constexpr int kMaxEmulated = 90;

bool is_ptx(std::string_view target) { return target.starts_with("compute_"); }

}  // namespace

Status check_call(const Driver& driver, CuResult result, std::string_view what) {
  return check_call(driver.table, result, what);
}

const sluice_code_image* choose_image(std::span<const sluice_code_image> images, int capability,
                                      bool is_emulated) {
  const sluice_code_image* best = nullptr;
  int best_rank = -1;
  for (const sluice_code_image& image : images) {
    const std::string_view target = image.target;
    int number = 0;
    const char* const first = target.data() + std::min(target.find('_') + 1, target.size());
    const auto [end, error] = std::from_chars(first, target.data() + target.size(), number);
    // Code for `sm_90a` runs on 9.0 alone.
    const bool is_exact = number == capability;
    const bool is_plain = error == std::errc() && end == target.data() + target.size();
    const bool runs = is_exact || (is_plain && number < capability &&
                                   (is_ptx(target) || number / 10 == capability / 10));
    if (!runs || (is_emulated && !is_ptx(target))) continue;
    const int rank = number + (is_ptx(target) ? 0 : 1000);
    if (rank > best_rank) std::tie(best, best_rank) = std::pair(&image, rank);
  }
  return best;
}

std::string describe_fit(std::span<const sluice_code_image> images, const sluice_code_image* chosen,
                         CuDevice device, int capability) {
  if (chosen != nullptr && !is_ptx(chosen->target)) return "";
  std::string names;
  for (const sluice_code_image& image : images) {
    if (!is_ptx(image.target)) names += (names.empty() ? "" : ", ") + std::string(image.target);
  }
  const std::string own = "sm_" + std::to_string(capability);
  const std::string way = chosen != nullptr
                              ? "the driver translates PTX (" + std::string(chosen->target) + ")"
                              : "its kernels are compiled at the load";
  return "the package has " + (names.empty() ? "no machine code" : "machine code for " + names) +
         ", device " + std::to_string(device) + " is of " + own + ": " + way +
         "; compile the model with --arch " + own;
}

bool depends_on_architecture(std::string_view text) {
  return text.find("__CUDA_ARCH__") != std::string_view::npos;
}

std::string choose_target(int capability, std::span<const int> architectures, bool is_emulated) {
  if (is_emulated) capability = std::min(capability, kMaxEmulated);
  const auto after = std::ranges::upper_bound(architectures, capability);
  if (after == architectures.begin()) return kPortableTarget;
  const int latest = *std::prev(after);
  return (latest == capability && !is_emulated ? "sm_" : "compute_") + std::to_string(latest);
}

Status KernelStore::compile(const std::string& text, const std::string& target,
                            std::string* image) {
  const std::lock_guard lock(mutex_);
  if (const auto found = compiled_.find({target, text}); found != compiled_.end()) {
    *image = found->second;
    return plugin::ok();
  }
  if (Status status = nvrtc_.compile(text, target, image); !status.is_ok()) return status;
  if (compiled_.size() >= kMaxKept) compiled_.clear();
  compiled_.emplace(std::pair(target, text), *image);
  return plugin::ok();
}

Status KernelStore::load(CuDevice device, const std::string& text,
                         std::shared_ptr<const LoadedKernel>* kernel) {
  using enum CuDeviceAttribute;
  int major = 0;
  int minor = 0;
  const DriverTable& cu = driver_.table;
  CuResult result = cu.device_get_attribute(&major, kComputeCapabilityMajor, device);
  if (result == CuResult::kSuccess) {
    result = cu.device_get_attribute(&minor, kComputeCapabilityMinor, device);
  }
  Status status = check_call(driver_, result, "asking a device for its architecture");
  if (!status.is_ok()) return status;
  const std::string target =
      choose_target(major * 10 + minor, nvrtc_.architectures(), driver_.is_emulated);
  std::string code;
  status = compile(text, target, &code);
  return status.is_ok() ? load_image(device, code, kernel) : status;
}

Status KernelStore::load_image(CuDevice device, const std::string& image,
                               std::shared_ptr<const LoadedKernel>* kernel) {
  const std::lock_guard lock(mutex_);
  if ((*kernel = loaded_[{device, image}].lock()) != nullptr) return plugin::ok();
  const DriverTable& cu = driver_.table;
  CuLibrary library = nullptr;
  Status status = check_call(
      driver_,
      cu.library_load_data(&library, image.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
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
  loaded_[{device, image}] = *kernel;
  return plugin::ok();
}

}  // namespace sluice::cuda
