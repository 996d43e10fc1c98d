#include "base/system/dynlib.h"

#include <dlfcn.h>

#include <utility>

namespace sluice {

Result<DynamicLibrary> DynamicLibrary::open(const std::filesystem::path& path) {
  int flags = RTLD_NOW | RTLD_LOCAL;
#ifdef __SANITIZE_ADDRESS__
  // Else what a plug-in's libraries keep for ever counts as lost at the end.
  flags |= RTLD_NODELETE;
#endif
  void* handle = ::dlopen(path.c_str(), flags);
  if (handle == nullptr) {
    const char* reason = ::dlerror();
    return make_error(Code::kNotFound, "cannot open library: {}",
                      reason ? reason : "no reason given");
  }
  return DynamicLibrary(handle);
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

void* DynamicLibrary::find_symbol(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace sluice
