#include <fmt/format.h>

#include "sluice/cli/command.h"
#include "sluice/devices/device_options.h"
#include "sluice/devices/device_table.h"
#include "sluice/devices/link_drawing.h"
#include "topology/map/device_map_json.h"

namespace sluice::tool {
namespace {

class LsCommand : public Command {
 public:
  const char* name() const override { return "ls"; }

  void add_options(Options& options) override {
    Option map =
        options.add("map", map_, "A map that `sluice discover` wrote (default: discover now)");
    Option json = options.flag("-j,--json", is_json_, "Print the map as one JSON object");
    options.flag("-t,--topology", has_topology_, "Draw the links").excludes(json);
    options.flag("-w,--wide", is_wide_, "Show plug-ins, processors, caches and features, too")
        .excludes(json);
    // A map from a file leaves nothing to discover.
    for (Option& machine : options_.add_to(options)) machine.excludes(map);
  }

  Result<int> run() override {
    const auto map =
        SLUICE_TRY(map_.empty() ? discover(options_) : topology::read_device_map(map_));
    if (is_json_) {
      fmt::print("{}", topology::print_device_map(map));
      return 0;
    }
    if (map.devices.empty()) return make_error(Code::kNotFound, "no devices{}", reasons(map));
    fmt::print("{}", device_table(map, is_wide_));
    if (has_topology_) fmt::print("\n{}", draw_links(map));
    return 0;
  }

 private:
  static std::string reasons(const topology::DeviceMap& map) {
    std::string text;
    for (const topology::SourceReport& report : map.sources) {
      if (!report.reason.empty()) text += fmt::format("; {}: {}", report.source, report.reason);
    }
    return text;
  }

  DeviceOptions options_;
  std::string map_;
  bool is_json_ = false;
  bool has_topology_ = false;
  bool is_wide_ = false;
};

}  // namespace

std::unique_ptr<Command> make_ls_command() { return std::make_unique<LsCommand>(); }

}  // namespace sluice::tool
