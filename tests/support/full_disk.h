// A disk that is full, for tests of what is written to files.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace sluice::testing {

/// While it lives no file of the process gets longer than so many bytes: a write at the limit takes
/// what fits, and the next one fails, as those to a full disk do.
class FullDisk {
 public:
  explicit FullDisk(rlim_t max_bytes) : former_signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &former_);
    const rlimit limit{max_bytes, former_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &former_);
    std::signal(SIGXFSZ, former_signal_);
  }

 private:
  void (*const former_signal_)(int);
  rlimit former_ = {};
};

}  // namespace sluice::testing
