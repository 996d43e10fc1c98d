#include "daemon/http/host_guard.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "rpc/wire/address.h"

namespace sluice::daemon {
namespace {

constexpr std::size_t kMaxShownBytes = 200;

/// "localhost:8000", "[::1]:8000" and "localhost." without what is no name.
std::string_view name_of(std::string_view field) {
  if (field.starts_with('[')) {
    const std::size_t end = field.find(']');
    return end == std::string_view::npos ? field : field.substr(1, end - 1);
  }
  const std::string_view name = field.substr(0, field.find(':'));
  return name.ends_with('.') ? name.substr(0, name.size() - 1) : name;
}

bool are_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

bool is_own_host(std::string_view field, const std::vector<std::string>& names) {
  if (field.empty()) return true;
  const std::string_view name = name_of(field);
  if (are_equal(name, "localhost") || rpc::wire::is_loopback(name)) return true;
  return std::ranges::any_of(names, [&](const std::string& one) { return are_equal(one, name); });
}

http::Handler for_own_hosts(std::vector<std::string> names, http::Handler handler) {
  return [names = std::move(names), handler = std::move(handler)](http::Request request,
                                                                  http::Answer answer) {
    if (is_own_host(request.host, names)) return handler(std::move(request), std::move(answer));
    const std::string host = valid_utf8(request.host.substr(0, kMaxShownBytes));
    answer(http::error_reply(
        421, fmt::format("this daemon is not \"{}\"; ask for localhost, or have its setting "
                         "http_hosts list the name",
                         host)));
    return http::Cancel();
  };
}

}  // namespace sluice::daemon
