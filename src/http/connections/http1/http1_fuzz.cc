// Reads any bytes as what a client sends over HTTP/1.1, in two pieces: the first byte says where
// they are cut. Each request has one answer, what is refused has one error behind them, and the
// connection ends when its client has sent all.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "http/connections/server.h"
#include "http2/frames.h"

namespace {

using namespace sluice;

constexpr std::size_t kMostBytes = 1 << 16;  // fit in the buffer of a socket
constexpr std::int64_t kMaxBodyBytes = 1 << 12;
constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\n";
constexpr std::string_view kAnyAnswer = "HTTP/1.1 ";

std::atomic<std::size_t> num_requests = 0;

http::Cancel take(http::Request request, const http::Answer& answer) {
  const bool is_whole = request.body != nullptr && !request.method.empty() && !request.path.empty();
  if (!is_whole || request.json_bytes < -1) std::abort();
  if (request.body->size() > static_cast<std::size_t>(kMaxBodyBytes)) std::abort();
  (void)http::decode_body(request);
  ++num_requests;
  answer({200, http::kText, "an answer"});
  return nullptr;
}

http::Server& server() {
  static const std::unique_ptr<http::Server> made = [] {
    http::ServerOptions options;
    options.num_threads = 1;
    options.max_body_bytes = kMaxBodyBytes;
    return http::Server::start(options, take).value();
  }();
  return *made;
}

/// What the server says to a client that sends both pieces and no more.
std::string ask(std::string_view first, std::string_view second) {
  std::array<int, 2> ends = {};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  server().add(ends[1], {"a fuzzer"}, nullptr);
  for (const std::string_view piece : {first, second}) {
    (void)send(ends[0], piece.data(), piece.size(), MSG_NOSIGNAL);
  }
  shutdown(ends[0], SHUT_WR);
  std::string said;
  std::array<char, 4096> buffer = {};
  for (ssize_t num = 1; num > 0;) {
    num = recv(ends[0], buffer.data(), buffer.size(), 0);
    said.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(num, 0)));
  }
  close(ends[0]);
  return said;
}

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > kMostBytes) return 0;
  const std::string_view all(reinterpret_cast<const char*>(data + 1), size - 1);
  if (all.starts_with(http2::kPreface)) return 0;  // http2_session has these
  const std::size_t cut = all.size() * data[0] / 256;
  num_requests = 0;
  const std::string said = ask(all.substr(0, cut), all.substr(cut));
  if (count(said, kAnswer) != num_requests) std::abort();
  if (!said.empty() && !said.starts_with(kAnyAnswer)) std::abort();
  return 0;
}
