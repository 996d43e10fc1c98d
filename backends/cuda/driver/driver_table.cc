#include "driver/driver_table.h"

#include <dlfcn.h>

namespace sluice::cuda {
namespace {

constexpr std::uint64_t kDefaultSearch = 0;

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Status too_old(const std::string& supported) {
  return {SLUICE_UNAVAILABLE, "the CUDA driver supports CUDA " + supported + "; Sluice needs " +
                                  version_text(kMinDriverVersion) +
                                  " or later: install an NVIDIA driver of the line 555 or later"};
}

template <typename Function>
bool bind(GetProcAddress find, const char* name, int version, Function* function) {
  void* address = nullptr;
  int found = 0;
  if (find(name, &address, version, kDefaultSearch, &found) != CuResult::kSuccess) return false;
  if (address == nullptr || found != 0) return false;
  *function = reinterpret_cast<Function>(address);
  return true;
}

/// The version that the driver supports; 0 if it does not say.
int driver_version(GetProcAddress find) {
  CuResult (*get_version)(int*) = nullptr;
  int version = 0;
  if (!bind(find, "cuDriverGetVersion", 2020, &get_version)) return 0;
  return get_version(&version) == CuResult::kSuccess ? version : 0;
}

Status no_driver(const std::string& why) {
  return {SLUICE_UNAVAILABLE,
          "no CUDA driver: " + why + "; install NVIDIA's driver, or use the backend cuda-emulated"};
}

}  // namespace

Status check_call(const DriverTable& driver, CuResult result, std::string_view what) {
  Status status = check(result, what);
  // Before the explanation, because callers cut long texts.
  if (ends_context(result))
    status.text += "; this process reaches the device no more, start it anew";
  if (status.is_ok() || driver.explain == nullptr) return status;
  if (const std::string more = driver.explain(); !more.empty()) status.text += ": " + more;
  return status;
}

Status bind_driver(GetProcAddress find, DriverTable* table) {
  if (const int version = driver_version(find); version != 0 && version < kMinDriverVersion) {
    return too_old(version_text(version));
  }
  DriverTable bound;
  std::string missing;
  const auto bind_to = [&](const char* name, int version, auto* function) {
    if (!bind(find, name, version, function))
      missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
#define SLUICE_CUDA_ROW(member, name, version, arguments) bind_to(#name, version, &bound.member);
  SLUICE_CUDA_ENTRIES(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW
  if (!missing.empty()) {
    return {SLUICE_FAILED_PRECONDITION, "the CUDA driver lacks " + missing};
  }
  *table = bound;
  return plugin::ok();
}

Status open_driver(const std::string& library, DriverTable* table) {
  void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) return no_driver(dlerror());
  const auto find = reinterpret_cast<GetProcAddress>(dlsym(opened, "cuGetProcAddress_v2"));
  if (find == nullptr) {  // CUDA 12.0 brought it
    const bool is_driver = dlsym(opened, "cuInit") != nullptr;
    return is_driver ? too_old("before 12.0") : no_driver(library + " has no function cuInit");
  }
  DriverTable bound;
  if (Status status = bind_driver(find, &bound); !status.is_ok()) return status;
  if (const CuResult result = bound.init(0); result != CuResult::kSuccess) {
    Status status = check(result, "starting the CUDA driver");
    return {SLUICE_UNAVAILABLE, std::move(status.text)};
  }
  *table = bound;
  return plugin::ok();
}

bool exports_functions(const std::string& library) {
  void* const opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (opened == nullptr) return false;
  const bool has_one = dlsym(opened, "cuInit") != nullptr;
  dlclose(opened);  // open_driver keeps it open
  return has_one;
}

}  // namespace sluice::cuda
