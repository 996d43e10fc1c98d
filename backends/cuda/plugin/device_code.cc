#include "plugin/device_code.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <tuple>

namespace sluice::cuda {
namespace {

// Texts whose PTX is kept: 4096 kernels of some 10 KiB.
constexpr std::size_t kMaxKept = 4096;

}  // namespace

Status check_call(const Driver& driver, CuResult result, std::string_view what) {
  Status status = check(result, what);
  if (status.is_ok() || driver.table.explain == nullptr) return status;
  if (const std::string more = driver.table.explain(); !more.empty()) status.text += ": " + more;
  return status;
}

std::string key_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::array<char, 17> digits = {};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

const sluice_code_image* choose_image(std::span<const sluice_code_image> images, int capability,
                                      bool is_emulated) {
  const sluice_code_image* best = nullptr;
  int best_rank = -1;
  for (const sluice_code_image& image : images) {
    const std::string_view target = image.target;
    const bool is_ptx = target.starts_with("compute_");
    int number = 0;
    const char* const first = target.data() + std::min(target.find('_') + 1, target.size());
    const auto [end, error] = std::from_chars(first, target.data() + target.size(), number);
    // Code for `sm_90a` runs on 9.0 alone.
    const bool is_exact = number == capability;
    const bool is_plain = error == std::errc() && end == target.data() + target.size();
    const bool runs =
        is_exact || (is_plain && number < capability && (is_ptx || number / 10 == capability / 10));
    if (!runs || (is_emulated && !is_ptx)) continue;
    const int rank = number + (is_ptx ? 0 : 1000);
    if (rank > best_rank) std::tie(best, best_rank) = std::pair(&image, rank);
  }
  return best;
}

Status KernelStore::compile(const std::string& text, const std::string& target,
                            std::string* image) {
  if (target != kPortableTarget) return nvrtc_.compile(text, target, image);
  const std::lock_guard lock(mutex_);
  if (const auto found = ptx_.find(text); found != ptx_.end()) {
    *image = found->second;
    return plugin::ok();
  }
  if (Status status = nvrtc_.compile(text, target, image); !status.is_ok()) return status;
  if (ptx_.size() >= kMaxKept) ptx_.clear();
  ptx_.emplace(text, *image);
  return plugin::ok();
}

Status KernelStore::load(CuDevice device, const std::string& text,
                         std::shared_ptr<const LoadedKernel>* kernel) {
  std::string ptx;
  Status status = compile(text, kPortableTarget, &ptx);
  return status.is_ok() ? load_image(device, ptx, kernel) : status;
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
