// The head of an HTTP/1.x request, as much of it as a listener that only gives needs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::daemon {

/// Longest head, in bytes: request line, fields and the empty line.
inline constexpr std::size_t kMaxRequestBytes = 4096;

struct HttpRequest {
  enum class State {
    kIncomplete,  ///< more may come
    kComplete,
    kRefused,  ///< answer with `status` and close
  };
  State state = State::kIncomplete;
  std::string path;              ///< of a complete one, without the query: "/metrics"
  int status = 0;                ///< of a refused one: 400, 405, 413, 431, 505
  std::string_view reason = {};  ///< why, a literal
};

/// Reads the start of what a peer sent. Grammar: RFC 9112, strictly: lines end in CR LF, a field is
/// never folded, HTTP/1.1 names its host once. Of methods only GET is taken, and no body.
HttpRequest parse_http_request(std::string_view bytes);

}  // namespace sluice::daemon
