#include "daemon/http/host_guard.h"

#include <arpa/inet.h>
#include <fmt/format.h>

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

/// The authority of an origin: "localhost:8000" of "http://localhost:8000". Empty for other texts.
std::string_view authority_of(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return {};
}

/// `names`: as for is_own_host.
bool is_named(std::string_view name, const std::vector<std::string>& names) {
  if (is_same_word(name, "localhost") || rpc::wire::is_loopback(name)) return true;
  return std::ranges::any_of(
      names, [&](const std::string& one) { return one == "*" || is_same_word(one, name); });
}

/// No name server decides where an address leads to, so rebinding needs a name.
bool is_address(std::string_view name) {
  in6_addr address = {};  // has room for both kinds
  const std::string text(name);
  return inet_pton(AF_INET, text.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

}  // namespace

bool is_own_host(std::string_view field, const std::vector<std::string>& names) {
  if (field.empty()) return true;
  const std::string_view name = name_of(field);
  return is_address(name) || is_named(name, names);
}

bool is_own_origin(std::string_view origin, std::string_view host,
                   const std::vector<std::string>& names) {
  if (origin.empty()) return true;
  const std::string_view authority = authority_of(origin);
  if (authority.empty()) return false;
  if (is_same_word(authority, host)) return true;
  // "*" says that any name may reach the daemon, not that any page may use it.
  std::vector<std::string> listed = names;
  std::erase(listed, "*");
  return is_named(name_of(authority), listed);
}

http::Handler for_own_pages(std::vector<std::string> names, http::Handler handler) {
  return [names = std::move(names), handler = std::move(handler)](http::Request request,
                                                                  http::Answer answer) {
    if (!is_own_host(request.host, names)) {
      answer(http::error_reply(
          421, fmt::format("this daemon is not \"{}\"; ask for localhost, or have its setting "
                           "http_hosts list the name",
                           shown(request.host, kMaxShownBytes))));
      return http::Cancel();
    }
    if (!is_own_origin(request.origin, request.host, names)) {
      answer(http::error_reply(
          403, fmt::format("a page of \"{}\" may not use this daemon; have its setting http_hosts "
                           "list the page's host",
                           shown(request.origin, kMaxShownBytes))));
      return http::Cancel();
    }
    return handler(std::move(request), std::move(answer));
  };
}

}  // namespace sluice::daemon
