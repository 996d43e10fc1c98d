#include "rpc/wire/address.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <charconv>

namespace sluice::rpc::wire {
namespace {

Status bad(std::string_view text, std::string_view why) {
  return invalid_argument("address \"{}\": {}; write unix:/PATH, HOST:PORT or [IPV6]:PORT", text,
                          why);
}

/// "127." and three numbers: a name such as "127.example.org" may belong to any machine.
bool is_loopback_ipv4(std::string_view host) {
  in_addr address = {};
  return inet_pton(AF_INET, std::string(host).c_str(), &address) == 1 && host.starts_with("127.");
}

Result<Address> parse_path(std::string_view text, std::string_view path) {
  if (path.empty() || path.front() != '/') return bad(text, "the path of a socket starts with /");
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return bad(text, fmt::format("the path has {} bytes, a socket's at most {}", path.size(),
                                 sizeof(sockaddr_un::sun_path) - 1));
  }
  if (path.find('\0') != std::string_view::npos) return bad(text, "the path holds a zero byte");
  return Address{true, std::string(path), "", 0};
}

}  // namespace

std::string Address::to_string() const {
  if (is_unix) return "unix:" + path;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || is_loopback_ipv4(host);
}

Result<Address> parse_address(std::string_view text) {
  if (text.starts_with("unix:")) return parse_path(text, text.substr(5));
  if (text.starts_with("/")) return parse_path(text, text);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad(text, "no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad(text, "brackets around the IPv6 address are missing");
  }
  for (const char c : host) {
    if (c <= ' ' || c == '/' || c == '%' || c == '[' || c == ']' || c == 0x7F) {
      return bad(text, "that is no host");
    }
  }
  Address address = {false, "", std::string(host), 0};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port < 0 ||
      address.port > 65535 || host.empty()) {
    return bad(text, "the port is no number between 0 and 65535");
  }
  return address;
}

}  // namespace sluice::rpc::wire
