#include "pool/cpu_set.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string>

namespace sluice::cpu {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// This process' group in the unified hierarchy, "" when there is none.
std::string unified_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("0::", 0) == 0) return line.substr(3);
  }
  return "";
}

double smallest_quota() {
  double quota = parse_cpu_quota(first_line("/sys/fs/cgroup/cpu.max"));
  for (std::string group = unified_group(); group.size() > 1;
       group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'))) {
    const double own = parse_cpu_quota(first_line("/sys/fs/cgroup" + group + "/cpu.max"));
    if (own > 0 && (quota == 0 || own < quota)) quota = own;
  }
  return quota;
}

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

double parse_cpu_quota(std::string_view cpu_max) {
  const std::size_t space = cpu_max.find(' ');
  if (space == std::string_view::npos) return 0;
  long quota_us = 0;
  long period_us = 0;
  const char* middle = cpu_max.data() + space;
  const char* end = cpu_max.data() + cpu_max.size();
  if (std::from_chars(cpu_max.data(), middle, quota_us).ptr != middle) return 0;
  std::from_chars(middle + 1, end, period_us);
  if (quota_us <= 0 || period_us <= 0) return 0;
  return static_cast<double>(quota_us) / static_cast<double>(period_us);
}

int default_worker_count() {
  const int cpus = static_cast<int>(allowed_cpus().size());
  const double quota = smallest_quota();
  return quota > 0 ? std::clamp(static_cast<int>(std::ceil(quota)), 1, cpus) : cpus;
}

}  // namespace sluice::cpu
