#include "http_client/http_client.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/process/start_thread.h"
#include "base/process/with_lock.h"
#include "tls/byte_stream.h"
#include "tls/peer.h"

namespace sluice::http_client {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Protocol = tls::ByteStream::Protocol;
using Tcp = asio::ip::tcp;

/// Enough to keep a server on the same machine busy.
constexpr std::size_t kNumThreads = 2;
/// As gRPC bounds a message.
constexpr std::uint64_t kMaxReplyBytes = std::uint64_t{2} << 30;
/// A time from now on has an end that can be told.
constexpr std::int64_t kMaxTimeoutNs = std::numeric_limits<std::int64_t>::max() / 2;

class Connection;

/// What the connections share. Connections without a request wait here.
struct Pool {
  Pool(rpc::wire::Address server, std::int64_t timeout_ns, tls::Context tls_context)
      : address(std::move(server)),
        tls(std::move(tls_context)),
        timeout(std::min(timeout_ns, kMaxTimeoutNs)) {}

  const rpc::wire::Address address;
  const tls::Context tls;  ///< null: none
  const std::chrono::nanoseconds timeout;
  asio::io_context io;
  std::mutex mutex;
  /// Endpoints of `address`, as its name was last resolved; never empty.
  std::vector<Protocol::endpoint> servers;
  bool is_stale = false;  ///< none of `servers` took the last connection
  std::vector<std::shared_ptr<Connection>> free;
};

std::vector<Protocol::endpoint> endpoints_of(const Tcp::resolver::results_type& found) {
  std::vector<Protocol::endpoint> servers;
  for (const auto& entry : found) servers.emplace_back(entry.endpoint());
  return servers;
}

Status broken(const beast::error_code& error) {
  // Codes are those of gRPC's client, so that a report compares both doors.
  const bool is_late = error == beast::error::timeout;
  return make_error(is_late ? Code::kDeadlineExceeded : Code::kUnavailable, "the server: {}",
                    error.message());
}

/// One request at a time, on its strand. A server may close a kept connection at any moment: a
/// request that found it closed, before a byte of an answer, is sent once more over a new one.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  explicit Connection(Pool& pool)
      : pool_(pool), stream_(asio::make_strand(pool.io)), resolver_(stream_.get_executor()) {}

  void send(std::shared_ptr<const std::string> request, HttpClient::Done done) {
    request_ = std::move(request);
    done_ = std::move(done);
    asio::post(stream_.get_executor(), [self = shared_from_this()] {
      // One time for connecting, writing and reading together.
      self->deadline_ = Time::clock::now() + self->pool_.timeout;
      self->stream_.plain().expires_at(self->deadline_);
      self->is_kept_ ? self->write() : self->find_server();
    });
  }

 private:
  using Error = beast::error_code;
  using Time = std::chrono::steady_clock::time_point;

  /// A name is resolved anew once its addresses have failed: the server may have moved.
  void find_server() {
    const bool is_stale = with_lock(pool_.mutex, [&] {
      servers_ = pool_.servers;
      return pool_.is_stale && !pool_.address.is_unix;
    });
    if (!is_stale) return connect(0);
    resolver_.async_resolve(
        pool_.address.host, std::to_string(pool_.address.port),
        [self = shared_from_this()](Error error, const Tcp::resolver::results_type& found) {
          if (error) return self->fail(error);
          self->servers_ = endpoints_of(found);
          self->connect(0);
        });
  }

  /// Tries the addresses in turn, each for its share of the time that is left.
  /// Requires: `index` < servers_.size().
  void connect(std::size_t index) {
    const auto num_left = static_cast<std::int64_t>(servers_.size() - index);
    const Time now = Time::clock::now();
    stream_.plain().expires_at(now + (deadline_ - now) / num_left);
    stream_.plain().async_connect(servers_[index], [self = shared_from_this(), index](Error error) {
      if (!error) return self->connected(index);
      Error ignored;
      self->stream_.socket().close(ignored);  // the next address may be of another family
      if (index + 1 < self->servers_.size()) return self->connect(index + 1);
      with_lock(self->pool_.mutex, [&] { self->pool_.is_stale = true; });
      self->fail(error);
    });
  }

  void connected(std::size_t index) {
    stream_.plain().expires_at(deadline_);
    // The next connection tries this address first.
    std::swap(servers_.front(), servers_[index]);
    {
      const std::lock_guard lock(pool_.mutex);
      pool_.servers = std::move(servers_);
      pool_.is_stale = false;
    }
    if (!pool_.address.is_unix) {
      Error ignored;
      // Nagle's algorithm would hold the end of a request back until the server acknowledges its
      // start.
      stream_.socket().set_option(Tcp::no_delay(true), ignored);
    }
    pool_.tls == nullptr ? write() : shake_hands();
  }

  void shake_hands() {
    stream_.begin_tls(*pool_.tls);
    if (Status status = tls::expect_host(stream_.tls(), pool_.address.host); !status.is_ok()) {
      return std::exchange(done_, nullptr)(std::move(status));
    }
    stream_.async_connect_tls(
        [self = shared_from_this()](Error error) { error ? self->fail(error) : self->write(); });
  }

  void write() {
    asio::async_write(stream_, asio::buffer(*request_),
                      [self = shared_from_this()](Error error, std::size_t) {
                        error ? self->retry(error) : self->read();
                      });
  }

  void read() {
    parser_.emplace();
    // Beast's own limit of 8 MiB would cut large outputs.
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
    // A fresh connection that fails shows a fault of the server. A late request may have run.
    if (!is_kept_ || error == beast::error::timeout) return fail(error);
    std::make_shared<Connection>(pool_)->send(std::move(request_), std::move(done_));
  }

  void fail(const Error& error) { std::exchange(done_, nullptr)(broken(error)); }

  void finish() {
    auto message = parser_->release();
    is_kept_ = message.keep_alive();
    // The connection goes back to the pool before the caller learns of the reply: its next request
    // may use it at once.
    const auto done = std::exchange(done_, nullptr);
    if (is_kept_) {
      const std::lock_guard lock(pool_.mutex);
      pool_.free.push_back(shared_from_this());
    }
    done(HttpReply{static_cast<int>(message.result_int()), std::move(message.body())});
  }

  Pool& pool_;
  tls::ByteStream stream_;
  asio::ip::basic_resolver<Tcp, asio::strand<asio::io_context::executor_type>> resolver_;
  std::vector<Protocol::endpoint> servers_;  ///< while it connects
  Time deadline_;                            ///< of the request
  beast::flat_buffer buffer_;
  std::optional<beast::http::response_parser<beast::http::string_body>> parser_;
  std::shared_ptr<const std::string> request_;
  HttpClient::Done done_;
  bool is_kept_ = false;  ///< has answered a request, and is open
};

class BeastClient final : public HttpClient {
 public:
  BeastClient(const rpc::wire::Address& address, std::vector<Protocol::endpoint> servers,
              std::int64_t timeout_ns, tls::Context tls)
      : pool_(address, timeout_ns, std::move(tls)), work_(asio::make_work_guard(pool_.io)) {
    pool_.servers = std::move(servers);
  }
  ~BeastClient() override {
    // Handlers that have not run are destroyed with the context, and connections with them; the
    // pool's own references go last, when no thread is left.
    pool_.io.stop();
    for (std::thread& thread : threads_) thread.join();
    pool_.free.clear();
  }

  /// Once, before requests. Fails: as start_thread; those that began end with the client.
  Status start() {
    for (std::size_t i = 0; i < kNumThreads; ++i) {
      threads_.push_back(SLUICE_TRY(start_thread([this] { pool_.io.run(); })));
    }
    return ok_status();
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
  std::vector<std::thread> threads_;
};

Result<std::vector<Protocol::endpoint>> resolve(const rpc::wire::Address& server) {
  if (server.is_unix) {
    return std::vector{Protocol::endpoint(asio::local::stream_protocol::endpoint(server.path))};
  }
  asio::io_context io;
  Tcp::resolver resolver(io);
  beast::error_code error;
  const auto found = resolver.resolve(server.host, std::to_string(server.port), error);
  if (error) return make_error(Code::kNotFound, "{}: {}", server.host, error.message());
  return endpoints_of(found);
}

/// The client's thread and the one that waits own it together: each may be the last to use it.
struct Answer {
  std::mutex mutex;
  std::condition_variable_any came;
  std::optional<Result<HttpReply>> reply;
};

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::create(const rpc::wire::Address& server,
                                                       std::int64_t timeout_ns, tls::Context tls) {
  auto servers = SLUICE_TRY(resolve(server));
  auto client =
      std::make_unique<BeastClient>(server, std::move(servers), timeout_ns, std::move(tls));
  SLUICE_TRY(client->start());
  return std::unique_ptr<HttpClient>(std::move(client));
}

Result<HttpReply> ask(HttpClient& client, std::shared_ptr<const std::string> request,
                      const std::stop_token& stop) {
  const auto answer = std::make_shared<Answer>();
  client.send(std::move(request), [answer](Result<HttpReply> reply) {
    const std::lock_guard lock(answer->mutex);
    answer->reply.emplace(std::move(reply));
    answer->came.notify_one();
  });
  std::unique_lock lock(answer->mutex);
  if (answer->came.wait(lock, stop, [&] { return answer->reply.has_value(); })) {
    return std::move(*answer->reply);
  }
  return make_error(Code::kDeadlineExceeded, "it did not answer before the wait was ended");
}

}  // namespace sluice::http_client
