#include <sched.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <fstream>

#include "base/process/memory_limit.h"
#include "base/text/plural.h"
#include "sluice/cli/command.h"
#include "sluice/model/model_source.h"

namespace sluice::tool {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

int usable_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  return ::sched_getaffinity(0, sizeof(mask), &mask) == 0 ? CPU_COUNT(&mask) : 0;
}

/// Cores that the control group's quota pays for, as its `cpu.max` says; "no limit" if it has none.
std::string core_quota() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  // Without a limit the first word is "max", which is no number.
  if (!(file >> quota >> period) || period <= 0) return "no limit";
  return fmt::format("{:.1f} cores", quota / period);
}

class DoctorCommand : public Command {
 public:
  const char* name() const override { return "doctor"; }
  void add_options(Options& /*options*/) override {}

  Result<int> run() override {
    struct sysinfo memory = {};
    ::sysinfo(&memory);
    const double unit = memory.mem_unit;
    fmt::print("processor  {}\n", processor_name());
    fmt::print("cores      {} usable by this process, control group: {}\n", usable_cores(),
               core_quota());
    fmt::print("memory     {:.1f} GB, {:.1f} GB free, {:.1f} GB usable by this process\n",
               static_cast<double>(memory.totalram) * unit / 1e9,
               static_cast<double>(memory.freeram) * unit / 1e9,
               static_cast<double>(usable_memory_bytes()) / 1e9);
    return report_plugins() ? 0 : 1;
  }

 private:
  /// Whether at least one plug-in loaded and none failed. A plug-in whose device this machine lacks
  /// has not failed.
  static bool report_plugins() {
    const auto plugins = backend_registry().all();
    if (plugins.empty()) {
      fmt::print(
          "\nno plug-ins found; set SLUICE_BACKEND_PATH to the folder that has "
          "libsluice_backend_*.so\n");
      return false;
    }
    bool is_healthy = std::ranges::any_of(
        plugins, [](const backend::Plugin& plugin) { return plugin.backend != nullptr; });
    for (const backend::Plugin& plugin : plugins) {
      fmt::print("\nbackend    {} ({})\n", plugin.name, plugin.path.string());
      if (plugin.backend == nullptr) {
        const bool is_absent = plugin.reason.code() == Code::kUnavailable;
        fmt::print("  {}: {}\n", is_absent ? "not here" : "not loaded", plugin.reason.to_string());
        is_healthy = is_healthy && is_absent;
        continue;
      }
      for (const backend::DeviceInfo& device : plugin.backend->devices()) {
        fmt::print("  device   {}: {}, {}\n", device.kind, device.name,
                   counted(device.num_cores, "core"));
      }
    }
    return is_healthy;
  }
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() { return std::make_unique<DoctorCommand>(); }

}  // namespace sluice::tool
