#include <fmt/format.h>

#include <cstdio>

#include "base/text/plural.h"
#include "sluice/cli/command.h"
#include "sluice/devices/device_options.h"
#include "sluice/devices/device_table.h"
#include "topology/map/device_map_json.h"

namespace sluice::tool {
namespace {

class DiscoverCommand : public Command {
 public:
  const char* name() const override { return "discover"; }

  void add_options(Options& options) override {
    options.add("-o,--output", output_,
                "Write the map to this file, as a whole or not at all (default: print it)");
    options_.add_to(options);
  }

  Result<int> run() override {
    const topology::DeviceMap map = SLUICE_TRY(discover(options_));
    // To stderr, so that the map alone goes into a pipe.
    for (const topology::SourceReport& report : map.sources) {
      const std::string found = counted(report.num_devices, "device");
      fmt::print(stderr, "{}: {}{}{}\n", report.source, found, report.reason.empty() ? "" : "; ",
                 report.reason);
    }
    if (output_.empty()) {
      fmt::print("{}", topology::print_device_map(map));
      return 0;
    }
    SLUICE_TRY(topology::write_device_map(output_, map));
    fmt::print("{}", device_table(map, false));  // for the service's log
    fmt::print("{}: {}, {}\n", output_, counted(map.devices.size(), "device"),
               counted(map.links.size(), "link"));
    return 0;
  }

 private:
  DeviceOptions options_;
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> make_discover_command() { return std::make_unique<DiscoverCommand>(); }

}  // namespace sluice::tool
