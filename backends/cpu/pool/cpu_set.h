#pragma once

#include <string_view>
#include <vector>

namespace sluice::cpu {

/// Processors this process may run on, ascending.
std::vector<int> allowed_cpus();

/// Processors' worth of time that the control group grants, from the text of cgroup v2's `cpu.max`
/// ("150000 100000" is 1.5); 0 when it sets no limit.
double parse_cpu_quota(std::string_view cpu_max);

/// Workers that make sense here: the allowed processors, no more than the quota rounded up.
int default_worker_count();

}  // namespace sluice::cpu
