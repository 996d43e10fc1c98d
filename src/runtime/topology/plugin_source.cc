#include <algorithm>

#include "runtime/topology/sources.h"

namespace sluice::runtime {
namespace {

void add_reason(Findings& found, const std::string& reason) {
  std::string& text = found.report.reason;
  text += (text.empty() ? "" : "; ") + reason;
}

}  // namespace

Findings find_plugin_devices(std::span<const backend::Plugin> plugins, bool has_cpus,
                             bool simulated) {
  Findings found = {.report = {.source = simulated ? "simulation" : "plug-ins"}};
  for (const backend::Plugin& plugin : plugins) {
    if (plugin.backend == nullptr) {
      if (!simulated) add_reason(found, plugin.reason.to_string());
      continue;
    }
    static_cast<void>(has_cpus);
  }
  found.report.num_devices = static_cast<std::int32_t>(found.devices.size());
  return found;
}

}  // namespace sluice::runtime
