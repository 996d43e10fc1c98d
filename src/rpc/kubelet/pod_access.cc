#include "rpc/kubelet/pod_access.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>
#include <vector>

namespace sluice::rpc::kubelet {
namespace {

std::string address_of(const PodAccess& access) { return "unix:" + access.socket; }

}  // namespace

std::string socket_folder(const PodAccess& access) {
  return std::filesystem::path(access.socket).parent_path().string();
}

std::map<std::string, std::string> environment_of(const PodAccess& access,
                                                  std::span<const CoreUnit> units) {
  std::vector<std::string> ids;
  std::set<std::int32_t> devices;
  for (const CoreUnit& unit : units) {
    ids.push_back(unit.id);
    devices.insert(unit.device.value());
  }
  const auto cores = static_cast<std::int64_t>(units.size()) * access.cores;
  return {{"SLUICE_ADDRESS", address_of(access)},
          {"SLUICE_CORE_GROUPS", fmt::format("{}", fmt::join(ids, ","))},
          {"SLUICE_CORES", std::to_string(cores)},
          {"SLUICE_DEVICES", fmt::format("{}", fmt::join(devices, ","))}};
}

std::string cdi_name(const PodAccess& access, const CoreUnit& unit) {
  return fmt::format("{}={}", access.kind, unit.id);
}

std::string cdi_document(const PodAccess& access, std::span<const CoreUnit> units) {
  using nlohmann::ordered_json;
  ordered_json devices = ordered_json::array();
  for (const CoreUnit& unit : units) {
    // A name for each device: a container may have several, and the last of one name would win.
    const std::string variable =
        fmt::format("SLUICE_DEVICE{}_GROUP{}={}", unit.device.value(), unit.group, access.cores);
    devices.push_back({{"name", unit.id}, {"containerEdits", {{"env", {variable}}}}});
  }
  const std::string folder = socket_folder(access);
  const ordered_json mount = {
      {"hostPath", folder}, {"containerPath", folder}, {"options", {"ro", "rbind"}}};
  const ordered_json document = {{"cdiVersion", "0.5.0"},
                                 {"kind", access.kind},
                                 {"devices", std::move(devices)},
                                 {"containerEdits",
                                  {{"env", {"SLUICE_ADDRESS=" + address_of(access)}},
                                   {"mounts", ordered_json::array({mount})}}}};
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace sluice::rpc::kubelet
