// Clients of HTTP/2 for tests: by nghttp2, or of raw bytes.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/connections/server.h"
#include "http2/frames.h"

namespace sluice::http::testing {

using Fields = std::map<std::string, std::string>;

/// One end of a socket whose other end the server has. Ends with the object.
class Socket {
 public:
  explicit Socket(Server& server) {
    std::array<int, 2> ends = {};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    fd_ = ends[0];
    server.add(ends[1], {"a test"}, nullptr);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(fd_); }

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t num = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (num <= 0) return;  // the server may have closed
      bytes.remove_prefix(static_cast<std::size_t>(num));
    }
  }
  /// Empty at the end.
  std::string read() const {
    std::string bytes(1 << 16, '\0');
    const ssize_t num = recv(fd_, bytes.data(), bytes.size(), 0);
    bytes.resize(num > 0 ? static_cast<std::size_t>(num) : 0);
    return bytes;
  }
  std::string read_all() const {
    std::string all;
    for (std::string more = read(); !more.empty(); more = read()) all += more;
    return all;
  }

 private:
  int fd_ = -1;
};

struct Got {
  std::string status;
  Fields fields;
  std::string body;
  std::set<std::string> words;  ///< statuses before the last
  std::uint32_t code = NGHTTP2_NO_ERROR;
  bool is_closed = false;
};

/// A client of nghttp2.
class Client {
 public:
  explicit Client(Server& server, bool reads = true) : socket_(server) {
    nghttp2_session_callbacks* calls = nullptr;
    nghttp2_session_callbacks_new(&calls);
    nghttp2_session_callbacks_set_on_header_callback(calls, take_field);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, take_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, take_end);
    nghttp2_session_callbacks_set_on_frame_recv_callback(calls, take_frame);
    nghttp2_option* option = nullptr;
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, reads ? 0 : 1);
    nghttp2_session_client_new2(&session_, calls, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(calls);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { nghttp2_session_del(session_); }

  std::int32_t ask(const std::string& path, const Fields& more = {},
                   const std::string& method = "GET") {
    return submit(path, more, method, nullptr);
  }
  /// `all` false: more of the body never comes.
  std::int32_t post(const std::string& path, std::string body, const Fields& more = {},
                    bool all = true) {
    bodies_.push_back(std::make_unique<Body>(Body{std::move(body), 0, all}));
    nghttp2_data_provider provider = {};
    provider.source.ptr = bodies_.back().get();
    provider.read_callback = read_body;
    return submit(path, more, "POST", &provider);
  }
  void reset(std::int32_t id) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    flush();
  }
  void flush() {
    const std::uint8_t* bytes = nullptr;
    for (ssize_t num = 1; num > 0;) {
      num = nghttp2_session_mem_send(session_, &bytes);
      if (num > 0) {
        socket_.write({reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(num)});
      }
    }
  }
  /// False if the server ends the connection before.
  bool read_until(const std::function<bool()>& is_done) {
    while (true) {
      flush();
      if (is_done()) return true;
      const std::string bytes = socket_.read();
      if (bytes.empty()) return false;
      nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                               bytes.size());
    }
  }
  /// The whole reply.
  const Got& reply(std::int32_t id) {
    EXPECT_TRUE(read_until([&] { return got_[id].is_closed; })) << "no reply to " << id;
    return got_[id];
  }
  const Got& got(std::int32_t id) { return got_[id]; }
  int num_goodbyes() const { return num_goodbyes_; }
  const Socket& socket() const { return socket_; }

 private:
  struct Body {
    std::string bytes;
    std::size_t sent = 0;
    bool is_all = true;
  };

  static std::string text(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
  }
  static int take_field(nghttp2_session* /*session*/, const nghttp2_frame* frame,
                        const std::uint8_t* name, std::size_t name_size, const std::uint8_t* value,
                        std::size_t value_size, std::uint8_t /*flags*/, void* self) {
    Got& got = static_cast<Client*>(self)->got_[frame->hd.stream_id];
    const std::string key = text(name, name_size);
    if (key != ":status") {
      got.fields[key] = text(value, value_size);
    } else {
      if (!got.status.empty()) got.words.insert(got.status);
      got.status = text(value, value_size);
    }
    return 0;
  }
  static int take_data(nghttp2_session* /*session*/, std::uint8_t /*flags*/, std::int32_t id,
                       const std::uint8_t* bytes, std::size_t size, void* self) {
    static_cast<Client*>(self)->got_[id].body += text(bytes, size);
    return 0;
  }
  static int take_end(nghttp2_session* /*session*/, std::int32_t id, std::uint32_t code,
                      void* self) {
    Got& got = static_cast<Client*>(self)->got_[id];
    got.is_closed = true;
    got.code = code;
    return 0;
  }
  static int take_frame(nghttp2_session* /*session*/, const nghttp2_frame* frame, void* self) {
    if (frame->hd.type == NGHTTP2_GOAWAY) ++static_cast<Client*>(self)->num_goodbyes_;
    return 0;
  }
  static ssize_t read_body(nghttp2_session* /*session*/, std::int32_t /*id*/, std::uint8_t* to,
                           std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                           void* /*self*/) {
    Body& body = *static_cast<Body*>(source->ptr);
    const std::size_t num = body.bytes.copy(reinterpret_cast<char*>(to), size, body.sent);
    body.sent += num;
    if (body.sent == body.bytes.size()) {
      if (body.is_all) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
      } else if (num == 0) {
        return NGHTTP2_ERR_DEFERRED;
      }
    }
    return static_cast<ssize_t>(num);
  }

  std::int32_t submit(const std::string& path, const Fields& more, const std::string& method,
                      const nghttp2_data_provider* body) {
    std::vector<std::pair<std::string, std::string>> fields = {
        {":method", method}, {":scheme", "http"}, {":authority", "a"}, {":path", path}};
    fields.insert(fields.end(), more.begin(), more.end());
    std::vector<nghttp2_nv> list;
    for (auto& [name, value] : fields) {
      list.push_back({reinterpret_cast<std::uint8_t*>(name.data()),
                      reinterpret_cast<std::uint8_t*>(value.data()), name.size(), value.size(),
                      NGHTTP2_NV_FLAG_NONE});
    }
    const std::int32_t id =
        nghttp2_submit_request(session_, nullptr, list.data(), list.size(), body, nullptr);
    flush();
    return id;
  }

  const Socket socket_;
  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Got> got_;
  std::vector<std::unique_ptr<Body>> bodies_;
  int num_goodbyes_ = 0;
};

inline std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                         std::string_view payload = {}) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>(payload.size() >> shift);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift);
  return bytes.append(payload);
}

inline std::string greeting() {
  return std::string(http2::kPreface) + frame(http2::kSettings, 0, 0);
}

/// GET /a of the host a, as HPACK has it without a table of its own.
inline constexpr std::string_view kGetA(
    "\x82\x86\x04\x02/a\x41\x01"
    "a",
    9);

}  // namespace sluice::http::testing
