// Connections over TLS as clients have them: whole, cut, half, or of another protocol.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "http/connections/server.h"
#include "support/eventually.h"

namespace sluice::http {
namespace {

using sluice::testing::eventually;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Ssl = std::unique_ptr<SSL, decltype(&SSL_free)>;

/// The first bytes of a ClientHello in a record of 512 bytes.
constexpr std::string_view kHalfHello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 half", 16);

tls::Context server_context() {
  tls::Context context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> own(X509_new(), X509_free);
  constexpr long kDay = 86400;
  X509_gmtime_adj(X509_getm_notBefore(own.get()), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(own.get()), kDay);
  X509_set_pubkey(own.get(), key.get());
  EXPECT_GT(X509_sign(own.get(), key.get(), EVP_sha256()), 0);
  EXPECT_EQ(SSL_CTX_use_certificate(context.get(), own.get()), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey(context.get(), key.get()), 1);
  return context;
}

/// One end of a socket whose other end the server has. Ends with the object.
class Socket {
 public:
  Socket(Server& server, tls::Context tls) {
    std::array<int, 2> ends = {};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    fd_ = ends[0];
    server.add(ends[1], {"a test"}, std::move(tls));
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(fd_); }

  int fd() const { return fd_; }
  void write(std::string_view bytes) const {
    (void)send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  std::string read_all() const {
    std::string all;
    std::array<char, 4096> buffer = {};
    for (ssize_t num = 1; num > 0;) {
      num = recv(fd_, buffer.data(), buffer.size(), 0);
      if (num > 0) all.append(buffer.data(), static_cast<std::size_t>(num));
    }
    return all;
  }

 private:
  int fd_ = -1;
};

/// A client that has shaken hands.
class Client {
 public:
  Client(Server& server, const tls::Context& tls)
      : socket_(server, tls),
        context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        ssl_(SSL_new(context_.get()), SSL_free) {
    SSL_set_fd(ssl_.get(), socket_.fd());
    EXPECT_EQ(SSL_connect(ssl_.get()), 1);
  }

  void write(std::string_view bytes) const {
    std::size_t num = 0;
    EXPECT_EQ(SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &num), 1);
    EXPECT_EQ(num, bytes.size());
  }
  /// A reply: its head and the bytes that this announces.
  std::string read_reply() {
    std::string all;
    while (all.find("\r\n\r\n") == std::string::npos && read_some(all, 1)) {
    }
    const std::size_t at = all.find("Content-Length: ");
    const std::size_t size = at == std::string::npos ? 0 : std::stoul(all.substr(at + 16));
    const std::size_t end = all.size() + size;
    while (all.size() < end && read_some(all, end - all.size())) {
    }
    return all;
  }
  /// Whether the server ends TLS as it should, with nothing else before.
  bool is_ended() {
    std::string all;
    return !read_some(all, 1) && SSL_get_error(ssl_.get(), 0) == SSL_ERROR_ZERO_RETURN;
  }
  void end() { SSL_shutdown(ssl_.get()); }

 private:
  bool read_some(std::string& all, std::size_t most) {
    std::string buffer(most, '\0');
    std::size_t num = 0;
    if (SSL_read_ex(ssl_.get(), buffer.data(), buffer.size(), &num) != 1) return false;
    all.append(buffer, 0, num);
    return true;
  }

  const Socket socket_;
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  const Ssl ssl_;
};

std::string get(std::string_view path) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", path);
}

/// Answers with the path and the size of the body; /later when the test says.
class HttpsTest : public ::testing::Test {
 protected:
  static ServerOptions options() {
    ServerOptions options;
    options.max_body_bytes = 32 << 20;
    options.max_connections = 8;
    return options;
  }
  explicit HttpsTest(const ServerOptions& options = HttpsTest::options())
      : server_(Server::start(options, [this](const Request& request, const Answer& answer) {
                  return take(request, answer);
                }).value()) {}

  Cancel take(const Request& request, const Answer& answer) {
    if (request.path == "/later") {
      const std::lock_guard lock(mutex_);
      kept_ = answer;
      return [this] { is_cancelled_ = true; };
    }
    std::string text = fmt::format("{} {}", request.path, request.body->size());
    if (request.path == "/large") text.assign(8'000'000, 'x');
    answer({200, kText, std::move(text)});
    return Cancel();
  }
  Answer kept() {
    Answer answer;
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex_);
      answer = std::exchange(kept_, nullptr);
      return answer != nullptr;
    }));
    return answer;
  }
  Client client() { return Client(*server_, tls_); }

  const tls::Context tls_ = server_context();
  std::mutex mutex_;
  Answer kept_;
  std::atomic<bool> is_cancelled_ = false;
  const std::unique_ptr<Server> server_;
};

TEST_F(HttpsTest, ConnectionsStayOpenForLongBodiesAndReplies) {
  Client client = this->client();
  const std::string body(20'000'000, 'b');
  client.write(
      fmt::format("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.size()));
  client.write(body);
  EXPECT_THAT(client.read_reply(), EndsWith("\r\n\r\n/p 20000000"));
  client.write(get("/large"));
  EXPECT_GT(client.read_reply().size(), 8'000'000U);
  client.write(get("/a"));
  EXPECT_THAT(client.read_reply(), EndsWith("\r\n\r\n/a 0"));
}

TEST_F(HttpsTest, RequestsThatComeAtOnceAreAnsweredInOrder) {
  Client client = this->client();
  client.write(get("/a") + get("/later") + get("/b") + get("/c"));
  EXPECT_THAT(client.read_reply(), EndsWith("/a 0"));
  kept()({200, kText, "later"});
  for (const char* expected : {"later", "/b 0", "/c 0"}) {
    EXPECT_THAT(client.read_reply(), EndsWith(expected));
  }
}

TEST_F(HttpsTest, NextRequestMayComeWhileOneIsComputed) {
  Client client = this->client();
  client.write(get("/later"));
  const Answer answer = kept();
  client.write(get("/after"));
  answer({200, kText, "later"});
  EXPECT_THAT(client.read_reply(), EndsWith("later"));
  EXPECT_THAT(client.read_reply(), EndsWith("/after 0"));
  EXPECT_FALSE(is_cancelled_);
  for (int i = 0; i < 50; ++i) {  // the next one comes when nothing is read, or something is
    client.write(get("/later"));
    kept()({200, kText, "again"});
    EXPECT_THAT(client.read_reply(), EndsWith("again"));
  }
}

TEST_F(HttpsTest, ClientThatGoesCancelsItsRequest) {
  for (const bool says_so : {true, false}) {
    is_cancelled_ = false;
    Answer answer;
    {
      Client client = this->client();
      client.write(get("/later"));
      answer = kept();
      if (says_so) {
        client.end();
        EXPECT_TRUE(eventually([&] { return is_cancelled_.load(); }));
      }
    }
    EXPECT_TRUE(eventually([&] { return is_cancelled_.load(); }));
    answer({200, kText, "too late"});
  }
}

TEST_F(HttpsTest, LastReplyEndsAsTlsWantsIt) {
  Client client = this->client();
  client.write("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(client.read_reply(), EndsWith("/a 0"));
  EXPECT_TRUE(client.is_ended());
  Client wrong = this->client();
  wrong.write("rubbish\r\n\r\n");
  EXPECT_THAT(wrong.read_reply(), StartsWith("HTTP/1.1 400 "));
  EXPECT_TRUE(wrong.is_ended());
}

TEST_F(HttpsTest, TargetsMayBeAbsolute) {
  Client client = this->client();
  client.write("GET https://b:80/a?x HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client.read_reply(), EndsWith("/a 0"));
}

TEST_F(HttpsTest, OtherProtocolThanThePortsGetsAnErrorInPlainHttp) {
  const Socket plain(*server_, tls_);
  plain.write(get("/a"));
  EXPECT_THAT(plain.read_all(), AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("https://")));
  const Socket rubbish(*server_, tls_);
  rubbish.write(std::string_view("\0\0\0\0", 4));
  EXPECT_THAT(rubbish.read_all(), StartsWith("HTTP/1.1 400 "));
  const Socket secret(*server_, nullptr);
  secret.write(kHalfHello);
  EXPECT_THAT(secret.read_all(), AllOf(StartsWith("HTTP/1.1 400 "), HasSubstr("http://")));
  const Socket no_handshake(*server_, tls_);
  no_handshake.write(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9) +
                     std::string(600, 'x'));
  EXPECT_THAT(no_handshake.read_all(), StartsWith("\x15")) << "an alert of TLS";
}

TEST_F(HttpsTest, HalfHandshakesMakeRoomForOthers) {
  std::vector<std::unique_ptr<Socket>> halves;
  for (std::size_t i = 0; i < 500; ++i) {
    halves.push_back(std::make_unique<Socket>(*server_, tls_));
    halves.back()->write(kHalfHello.substr(0, i % (kHalfHello.size() + 1)));
  }
  Client client = this->client();
  client.write(get("/a"));
  EXPECT_THAT(client.read_reply(), EndsWith("/a 0"));
  EXPECT_EQ(halves.front()->read_all(), "");
}

TEST_F(HttpsTest, ShutdownEndsHandshakes) {
  const Socket half(*server_, tls_);
  half.write(kHalfHello);
  server_->shutdown(60'000'000'000);
  EXPECT_EQ(half.read_all(), "");
}

class ImpatientHttpsTest : public HttpsTest {
 protected:
  static ServerOptions options() {
    ServerOptions options = HttpsTest::options();
    options.handshake_ns = 50'000'000;
    return options;
  }
  ImpatientHttpsTest() : HttpsTest(options()) {}
};

TEST_F(ImpatientHttpsTest, HandshakeThatStopsIsGivenUp) {
  for (const std::string_view first : {std::string_view(), kHalfHello.substr(0, 3), kHalfHello}) {
    const Socket half(*server_, tls_);
    half.write(first);
    EXPECT_EQ(half.read_all(), "");
  }
}

}  // namespace
}  // namespace sluice::http
