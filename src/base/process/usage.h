// What the system counts for this process.
#pragma once

#include <cstdint>

namespace sluice {

struct ProcessUsage {
  std::int64_t resident_bytes = 0;  ///< memory, with what it shares with others
  std::int64_t processor_ns = 0;    ///< of all its threads, ended ones too
};

/// Zeros where the system does not tell. Reads a file: for reports, not for each request.
ProcessUsage process_usage();

}  // namespace sluice
