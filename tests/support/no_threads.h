// A system that gives no threads, for tests of what starts some.
#pragma once

#include <pthread.h>

#include <cstddef>

namespace sluice::testing {

/// While it lives no thread starts in the process: each wants a stack of 64 TiB.
class NoThreads {
 public:
  NoThreads() {
    constexpr std::size_t kStackBytes = std::size_t{1} << 46;
    pthread_attr_t large;
    pthread_getattr_default_np(&former_);
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, kStackBytes);
    pthread_setattr_default_np(&large);
    pthread_attr_destroy(&large);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;
  ~NoThreads() {
    pthread_setattr_default_np(&former_);
    pthread_attr_destroy(&former_);
  }

 private:
  pthread_attr_t former_;
};

}  // namespace sluice::testing
