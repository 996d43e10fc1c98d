// A child that was forked while another thread changed the list of libraries finds it half changed,
// and its first dlopen ends it. So a fork waits until no library of ours is opened. A library stays
// in the process once it was opened: a new copy would make its static objects anew, and in a child
// that was forked meanwhile one that is half made is never made, and whoever asks for it waits for
// ever. Besides, a library's own threads, and what its libraries keep, may outlive its last user.
// A fork beside a load may still hang its child at another lock that the loading thread held.
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
  const std::lock_guard lock(libraries());
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
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
