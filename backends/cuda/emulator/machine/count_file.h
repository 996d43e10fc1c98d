// What launches did, for people and programs that look for slow kernels.
#pragma once

#include <fstream>
#include <mutex>
#include <string>
#include <string_view>

#include "driver/results.h"
#include "emulator/ptx/code/launch.h"

namespace sluice::cuda::emulator {

/// A file with a line of JSON per launch: `image` (key_of its text), `kernel`, `grid`, `block`, and
/// the fields of ptx::Counts. Safe from several threads.
class CountFile {
 public:
  struct Which {
    std::string_view image, kernel;
  };

  /// Appends to the file. An empty name opens none: `add` does nothing.
  /// Fails: INVALID_ARGUMENT  the file cannot be written
  Status open(const std::string& name);

  void add(const Which& which, const ptx::Launch& launch, const ptx::Counts& counts);

 private:
  std::mutex mutex_;
  std::ofstream file_;
};

}  // namespace sluice::cuda::emulator
