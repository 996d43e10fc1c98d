#include "daemon/http/http_request.h"

#include <algorithm>
#include <cctype>

namespace sluice::daemon {
namespace {

using State = HttpRequest::State;

HttpRequest refused(int status, std::string_view reason) {
  return {State::kRefused, "", status, reason};
}

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](unsigned char c) {
    return c < 0x80 && (std::isalnum(c) != 0 || kMarks.find(static_cast<char>(c)) != kMarks.npos);
  });
}

/// Visible characters and, inside, blanks and tabs.
bool is_field_value(std::string_view text) {
  return std::ranges::all_of(text,
                             [](unsigned char c) { return c == '\t' || (c >= ' ' && c != 0x7F); });
}

bool is_target(std::string_view text) {
  return !text.empty() && text.front() == '/' &&
         std::ranges::all_of(text, [](unsigned char c) { return c > ' ' && c < 0x7F; });
}

bool is_named(std::string_view name, std::string_view lower) {
  return std::ranges::equal(name, lower,
                            [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

/// The request line and the fields, one after the other.
class HeadReader {
 public:
  explicit HeadReader(std::string_view head) : rest_(head) {}

  HttpRequest read() {
    if (!read_request_line()) return result_;
    while (!rest_.empty()) {
      if (!read_field(take_line())) return result_;
    }
    if (is_1_1_ && num_hosts_ != 1) return refused(400, "HTTP/1.1 names its host, once");
    result_.state = State::kComplete;
    return result_;
  }

 private:
  std::string_view take_line() {
    const std::size_t end = rest_.find("\r\n");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 2);
    return line;
  }

  bool fail(int status, std::string_view reason) {
    result_ = refused(status, reason);
    return false;
  }

  bool read_request_line() {
    const std::string_view line = take_line();
    const std::size_t first = line.find(' ');
    const std::size_t last = line.rfind(' ');
    if (first == line.npos || first == last) return fail(400, "no request line");
    const std::string_view method = line.substr(0, first);
    const std::string_view target = line.substr(first + 1, last - first - 1);
    const std::string_view version = line.substr(last + 1);
    if (!is_token(method)) return fail(400, "the method is not a token");
    if (version != "HTTP/1.1" && version != "HTTP/1.0") {
      return version.starts_with("HTTP/") ? fail(505, "only HTTP/1.x is spoken here")
                                          : fail(400, "no request line");
    }
    is_1_1_ = version == "HTTP/1.1";
    if (method != "GET") return fail(405, "only GET is supported");
    if (!is_target(target)) return fail(400, "the target is not a path");
    result_.path = target.substr(0, target.find('?'));
    return true;
  }

  bool read_field(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !is_token(line.substr(0, colon)))
      return fail(400, "a field has no name");
    const std::string_view name = line.substr(0, colon);
    std::string_view value = line.substr(colon + 1);
    if (!is_field_value(value)) return fail(400, "a field holds a control character");
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    if (is_named(name, "host")) ++num_hosts_;
    if (is_named(name, "transfer-encoding")) return fail(413, "a GET brings nothing");
    if (is_named(name, "content-length") && value != "0") return fail(413, "a GET brings nothing");
    return true;
  }

  std::string_view rest_;
  bool is_1_1_ = false;
  int num_hosts_ = 0;
  HttpRequest result_;
};

}  // namespace

HttpRequest parse_http_request(std::string_view bytes) {
  const std::size_t end = bytes.substr(0, kMaxRequestBytes).find("\r\n\r\n");
  if (end != bytes.npos) return HeadReader(bytes.substr(0, end + 2)).read();
  if (bytes.size() >= kMaxRequestBytes) return refused(431, "the request is longer than 4 KB");
  return {};
}

}  // namespace sluice::daemon
