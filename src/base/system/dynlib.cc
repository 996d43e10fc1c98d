// A child that was forked while another thread changed the list of libraries finds it half changed,
// and its first dlopen ends it. So a fork waits until no library of ours is opened or closed. It
// waits for nothing else: a static object that another thread makes just then is never made in the
// child, and whoever asks for it there waits for ever.
#include "base/system/dynlib.h"

#include <dlfcn.h>
#include <pthread.h>

#include <mutex>
#include <new>
#include <utility>

namespace sluice {
namespace {

/// Recursive: a library that is opened may open others.
std::recursive_mutex& libraries() {
  // Never destroyed: a fork may come at the very end.
  static std::recursive_mutex* mutex = [] {
    // The child's thread has another number than the owner and cannot unlock: it gets a new mutex.
    pthread_atfork([] { libraries().lock(); }, [] { libraries().unlock(); },
                   [] { new (&libraries()) std::recursive_mutex; });
    return new std::recursive_mutex;
  }();
  return *mutex;
}

}  // namespace

Result<DynamicLibrary> DynamicLibrary::open(const std::filesystem::path& path) {
  int flags = RTLD_NOW | RTLD_LOCAL;
#ifdef __SANITIZE_ADDRESS__
  // Else what a plug-in's libraries keep for ever counts as lost at the end.
  flags |= RTLD_NODELETE;
#endif
  const std::lock_guard lock(libraries());
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
  if (handle_ == nullptr) return;
  const std::lock_guard lock(libraries());
  ::dlclose(handle_);
}

void* DynamicLibrary::find_symbol(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace sluice
