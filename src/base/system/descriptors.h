// How many file descriptors this process has open.
#pragma once

#include <cstdint>

namespace sluice {

struct DescriptorUse {
  std::int64_t num_open = 0;
  std::int64_t max_open = 0;  ///< RLIMIT_NOFILE
};

/// Counts the entries of /proc/self/fd; zeros where the system tells nothing.
DescriptorUse descriptor_use();

}  // namespace sluice
