#include "terms/server/roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/number.h"

namespace sluice::terms {
namespace {

// The roles that settings may name, in the order of messages. kFetch belongs to exchange_peers
// alone.
constexpr std::array kRoles = {Role::kMonitor, Role::kInference, Role::kControl};
constexpr std::string_view kNone = "none";
constexpr std::string_view kMaxRun = "max_run=";
constexpr std::string_view kMaxPriority = "max_priority=";
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kMostSeconds = 1'000'000'000;

Result<std::int64_t> parse_max_run(std::string_view seconds) {
  const auto number = to_number<std::int64_t>(seconds);
  if (number && *number > 0 && *number <= kMostSeconds) return *number * kNsPerSecond;
  return invalid_argument("{}{} is not a number of seconds between 1 and {}", kMaxRun,
                          seconds.substr(0, 100), kMostSeconds);
}

Result<std::int32_t> parse_max_priority(std::string_view text) {
  const auto number = to_number<std::int32_t>(text);
  if (number && *number != Roles::kAnyPriority) return *number;
  return invalid_argument("{}{} is no whole number of 32 bits", kMaxPriority, text.substr(0, 100));
}

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
    at = end + 1;
    if (word.starts_with(kMaxRun)) {
      roles.set_max_run_ns(SLUICE_TRY(parse_max_run(word.substr(kMaxRun.size()))));
      continue;
    }
    if (word.starts_with(kMaxPriority)) {
      roles.set_max_priority(SLUICE_TRY(parse_max_priority(word.substr(kMaxPriority.size()))));
      continue;
    }
    const auto* const role = std::ranges::find(kRoles, word, role_name);
    if (role == kRoles.end()) {
      return invalid_argument("\"{}\" is no role; there are inference, control, monitor and none",
                              word.substr(0, 100));
    }
    roles.add(*role);
  }
  if (!roles.open(Role::kAny)) return invalid_argument("{} needs a role beside it", text);
  return roles;
}

std::string to_string(Roles roles) {
  std::string text;
  for (const Role role : kRoles) {
    if (!roles.open(role)) continue;
    text += text.empty() ? "" : ",";
    text += role_name(role);
  }
  if (text.empty()) return std::string(kNone);
  if (roles.max_run_ns() != 0)
    text += fmt::format(",{}{}", kMaxRun, roles.max_run_ns() / kNsPerSecond);
  if (roles.max_priority() != Roles::kAnyPriority) {
    text += fmt::format(",{}{}", kMaxPriority, roles.max_priority());
  }
  return text;
}

}  // namespace sluice::terms
