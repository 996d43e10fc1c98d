#include "perf/clients/http_client.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <netdb.h>
#include <sys/un.h>

#include <array>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace sluice::perf {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Protocol = asio::generic::stream_protocol;

/// Enough to keep a server on the same machine busy.
constexpr std::size_t kNumThreads = 2;
/// As gRPC bounds a message.
constexpr std::uint64_t kMaxReplyBytes = std::uint64_t{2} << 30;

class Connection;

/// What the connections share. Connections without a request wait here.
struct Pool {
  Protocol::endpoint server;
  bool is_tcp = false;
  std::chrono::nanoseconds timeout;
  asio::io_context io;
  std::mutex mutex;
  std::vector<std::shared_ptr<Connection>> free;
};

Status broken(const beast::error_code& error) {
  const bool is_late = error == beast::error::timeout;
  return make_error(is_late ? Code::kDeadlineExceeded : Code::kUnavailable, "the server: {}",
                    error.message());
}

/// One request at a time, on its strand. A server may close a kept connection at any moment: a
/// request that found it closed, before a byte of an answer, is sent once more over a new one.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(Pool& pool) : pool_(pool), stream_(asio::make_strand(pool.io)) {}

  void send(std::shared_ptr<const std::string> request, HttpClient::Done done) {
    request_ = std::move(request);
    done_ = std::move(done);
    asio::post(stream_.get_executor(), [self = shared_from_this()] {
      self->stream_.expires_after(self->pool_.timeout);
      self->is_kept_ ? self->write() : self->connect();
    });
  }

 private:
  using Error = beast::error_code;

  void connect() {
    stream_.async_connect(pool_.server, [self = shared_from_this()](Error error) {
      if (error) return self->fail(error);
      if (self->pool_.is_tcp) {
        Error ignored;
        self->stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
      }
      self->write();
    });
  }

  void write() {
    asio::async_write(stream_, asio::buffer(*request_),
                      [self = shared_from_this()](Error error, std::size_t) {
                        error ? self->retry(error) : self->read();
                      });
  }

  void read() {
    parser_.emplace();
    parser_->body_limit(kMaxReplyBytes);
    beast::http::async_read(stream_, buffer_, *parser_,
                            [self = shared_from_this()](Error error, std::size_t num_bytes) {
                              if (error) {
                                num_bytes == 0 ? self->retry(error) : self->fail(error);
                              } else {
                                self->finish();
                              }
                            });
  }

  void retry(const Error& error) {
    if (!is_kept_ || error == beast::error::timeout) return fail(error);
    std::make_shared<Connection>(pool_)->send(std::move(request_), std::move(done_));
  }

  void fail(const Error& error) { std::exchange(done_, nullptr)(broken(error)); }

  void finish() {
    auto message = parser_->release();
    is_kept_ = message.keep_alive();
    const auto done = std::exchange(done_, nullptr);
    if (is_kept_) {
      const std::lock_guard lock(pool_.mutex);
      pool_.free.push_back(shared_from_this());
    }
    done(HttpReply{static_cast<int>(message.result_int()), std::move(message.body())});
  }

  Pool& pool_;
  beast::basic_stream<Protocol, asio::strand<asio::io_context::executor_type>> stream_;
  beast::flat_buffer buffer_;
  std::optional<beast::http::response_parser<beast::http::string_body>> parser_;
  std::shared_ptr<const std::string> request_;
  HttpClient::Done done_;
  bool is_kept_ = false;  ///< has answered a request, and is open
};

class BeastClient final : public HttpClient {
 public:
  BeastClient(Protocol::endpoint server, bool is_tcp, std::int64_t timeout_ns)
      : work_(asio::make_work_guard(pool_.io)) {
    pool_.server = std::move(server);
    pool_.is_tcp = is_tcp;
    pool_.timeout = std::chrono::nanoseconds(timeout_ns);
    for (std::thread& thread : threads_) {
      thread = std::thread([this] { pool_.io.run(); });
    }
  }
  BeastClient(const BeastClient&) = delete;
  BeastClient& operator=(const BeastClient&) = delete;
  ~BeastClient() override {
    pool_.io.stop();
    for (std::thread& thread : threads_) thread.join();
    pool_.free.clear();
  }

  void send(std::shared_ptr<const std::string> request, Done done) override {
    std::shared_ptr<Connection> connection;
    {
      const std::lock_guard lock(pool_.mutex);
      if (!pool_.free.empty()) {
        connection = std::move(pool_.free.back());
        pool_.free.pop_back();
      }
    }
    if (connection == nullptr) connection = std::make_shared<Connection>(pool_);
    connection->send(std::move(request), std::move(done));
  }

 private:
  Pool pool_;
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::array<std::thread, kNumThreads> threads_;
};

Result<Protocol::endpoint> endpoint_of(const rpc::wire::Address& server) {
  if (server.is_unix) {
    return Protocol::endpoint(asio::local::stream_protocol::endpoint(server.path));
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(server.port);
  const int error = getaddrinfo(server.host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    return make_error(Code::kNotFound, "{}: {}", server.host, gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, &freeaddrinfo);
  return Protocol::endpoint(found->ai_addr, found->ai_addrlen, IPPROTO_TCP);
}

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::create(const rpc::wire::Address& server,
                                                       std::int64_t timeout_ns) {
  auto endpoint = SLUICE_TRY(endpoint_of(server));
  return std::unique_ptr<HttpClient>(
      std::make_unique<BeastClient>(std::move(endpoint), !server.is_unix, timeout_ns));
}

}  // namespace sluice::perf
