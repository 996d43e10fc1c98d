#include "terms/server/roles.h"

#include <algorithm>
#include <array>

namespace sluice::terms {
namespace {

// The roles that settings may name, in the order of messages. kFetch belongs to exchange_peers
// alone.
constexpr std::array kRoles = {Role::kMonitor, Role::kInference, Role::kControl};
constexpr std::string_view kNone = "none";

}  // namespace

std::string_view role_name(Role role) {
  switch (role) {
    case Role::kMonitor: return "monitor";
    case Role::kInference: return "inference";
    case Role::kControl: return "control";
    case Role::kFetch: return "fetch";
    case Role::kAny: break;
  }
  return "any";
}

Result<Roles> parse_roles(std::string_view text) {
  Roles roles;
  if (text == kNone) return roles;
  // <=: a text that is empty, or ends in a comma, has an empty word, which is refused.
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const auto* const role = std::ranges::find(kRoles, word, role_name);
    if (role == kRoles.end()) {
      return invalid_argument("\"{}\" is no role; there are inference, control, monitor and none",
                              word.substr(0, 100));
    }
    roles.add(*role);
    at = end + 1;
  }
  return roles;
}

std::string to_string(Roles roles) {
  std::string text;
  for (const Role role : kRoles) {
    if (!roles.open(role)) continue;
    text += text.empty() ? "" : ",";
    text += role_name(role);
  }
  return text.empty() ? std::string(kNone) : text;
}

}  // namespace sluice::terms
