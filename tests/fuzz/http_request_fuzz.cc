// Reads any bytes as an HTTP request: an accepted request has a path of printable characters, and
// bytes behind an accepted or refused request do not change the verdict.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/http/http_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using sluice::daemon::HttpRequest;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const HttpRequest request = sluice::daemon::parse_http_request(text);
  if (request.state == HttpRequest::State::kIncomplete) return 0;
  if (request.state == HttpRequest::State::kComplete) {
    const bool is_printable = std::all_of(request.path.begin(), request.path.end(),
                                          [](char c) { return c > ' ' && c < 0x7F; });
    if (!request.path.starts_with('/') || !is_printable) std::abort();
  }
  const HttpRequest longer = sluice::daemon::parse_http_request(text + "\r\n\r\nmore");
  if (longer.state != request.state || longer.path != request.path) std::abort();
  return 0;
}
