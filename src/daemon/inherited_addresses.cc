#include "daemon/inherited_addresses.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "rpc/wire/address.h"

namespace sluice::daemon {
namespace {

/// Settings with one address.
constexpr std::array<std::pair<std::string_view, std::string Settings::*>, 4> kDoors = {
    {{"http", &Settings::http},
     {"metrics", &Settings::metrics},
     {"exchange_listen", &Settings::exchange_listen},
     {"agent_check", &Settings::agent_check}}};

/// The end for a setting with several.
const auto* find_door(std::string_view role) {
  return std::ranges::find(kDoors, role, [](const auto& one) { return one.first; });
}

/// The setting that a socket's name means.
std::string_view role_of(std::string_view name) {
  const auto* door = find_door(name);
  return door == kDoors.end() ? "listen" : door->first;
}

/// A port that the system chose for the daemon before stays the same.
void keep_port(std::string& address, std::string_view role,
               std::vector<InheritedAddress>& inherited) {
  auto wanted = rpc::wire::parse_address(address);
  if (!wanted.is_ok() || wanted->is_unix || wanted->port != 0) return;
  const auto has_role = [&](const InheritedAddress& one) {
    return role_of(one.name) == role && !one.is_managed && !one.address.starts_with("unix:");
  };
  const auto it = std::ranges::find_if(inherited, has_role);
  if (it == inherited.end()) return;
  wanted->port = rpc::wire::parse_address(it->address)->port;
  const std::string end = fmt::format(":{}", wanted->port);
  std::erase_if(inherited,
                [&](const auto& one) { return has_role(one) && one.address.ends_with(end); });
  address = wanted->to_string();
}

}  // namespace

Status apply_inheritance(const std::vector<InheritedAddress>& addresses, bool is_listen_set,
                         Settings& settings) {
  std::vector<InheritedAddress> left = addresses;
  for (std::string& address : settings.listen) keep_port(address, "listen", left);
  for (const auto& [role, member] : kDoors) keep_port(settings.*member, role, left);
  bool is_default = !is_listen_set;
  for (const InheritedAddress& one : addresses) {
    if (!one.is_managed) continue;
    const std::string_view role = role_of(one.name);
    if (role == "listen") {
      if (std::exchange(is_default, false)) settings.listen.clear();
      if (std::ranges::find(settings.listen, one.address) == settings.listen.end()) {
        settings.listen.push_back(one.address);
      }
      continue;
    }
    std::string& setting = settings.*(find_door(role)->second);
    if (!setting.empty() && setting != one.address) {
      return invalid_argument(
          "{}: it is {}, and the service manager listens at {}; leave the setting out", role,
          setting, one.address);
    }
    setting = one.address;
  }
  return ok_status();
}

}  // namespace sluice::daemon
