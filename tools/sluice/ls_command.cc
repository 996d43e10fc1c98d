#include <fmt/format.h>

#include "runtime/topology/device_map_json.h"
#include "sluice/command.h"
#include "sluice/device_options.h"
#include "sluice/device_table.h"
#include "sluice/link_drawing.h"

namespace sluice::tool {
namespace {

class LsCommand : public Command {
 public:
  const char* name() const override { return "ls"; }
  const char* summary() const override {
    return "List devices: cores, memory, addresses, and what is linked with what";
  }

  void add_options(CLI::App& app) override {
    auto* map =
        app.add_option("map", map_, "A map that `sluice discover` wrote (default: look now)");
    auto* json = app.add_flag("-j,--json", is_json_, "Print the map as one JSON object");
    app.add_flag("-t,--topology", has_topology_, "Draw the links, too")->excludes(json);
    app.add_flag("-w,--wide", is_wide_, "Also plug-ins, processors, caches and features")
        ->excludes(json);
    options_.add_to(app);
    app.get_option("--synthetic")->excludes(map);
    app.get_option("--sim")->excludes(map);
  }

  Result<int> run() override {
    const auto map = SLUICE_TRY(map_.empty() ? discover(options_) : runtime::read_device_map(map_));
    if (is_json_) {
      fmt::print("{}", runtime::print_device_map(map));
      return 0;
    }
    if (map.devices.empty()) return make_error(Code::kNotFound, "no devices{}", reasons(map));
    fmt::print("{}", device_table(map, is_wide_));
    if (has_topology_) fmt::print("\n{}", draw_links(map));
    return 0;
  }

 private:
  static std::string reasons(const runtime::DeviceMap& map) {
    std::string text;
    for (const runtime::SourceReport& report : map.sources) {
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
