#include "base/process/usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace sluice {
namespace {

std::int64_t ns_of(const timeval& time) {
  return (std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec) * 1000;
}

}  // namespace

ProcessUsage process_usage() {
  ProcessUsage usage;
  // proc(5): pages in all, and resident ones.
  std::int64_t pages = 0;
  if (std::ifstream("/proc/self/statm") >> pages >> pages) {
    usage.resident_bytes = pages * sysconf(_SC_PAGESIZE);
  }
  rusage times = {};
  if (getrusage(RUSAGE_SELF, &times) == 0) {
    usage.processor_ns = ns_of(times.ru_utime) + ns_of(times.ru_stime);
  }
  return usage;
}

}  // namespace sluice
