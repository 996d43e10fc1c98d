#include "daemon/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "support/paths.h"

namespace sluice::daemon {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kGet = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// A connection as a client has it. Ends with the object.
class Connection {
 public:
  explicit Connection(const HttpServer& server) : fd_(connect_to(server.address())) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(fd_); }

  void write(std::string_view bytes) const {
    send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);  // the server may have closed
  }
  /// All until the server ends it.
  std::string read() const {
    std::string all;
    std::array<char, 4096> buffer = {};
    for (ssize_t size = 1; size > 0;) {
      size = recv(fd_, buffer.data(), buffer.size(), 0);
      if (size > 0) all.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return all;
  }

 private:
  static int connect_to(const std::string& text) {
    const auto address = rpc::wire::parse_address(text);
    EXPECT_TRUE(address.is_ok());
    sockaddr_un local = {};
    sockaddr_in tcp = {};
    local.sun_family = AF_UNIX;
    std::memcpy(local.sun_path, address->path.c_str(), address->path.size());
    tcp.sin_family = AF_INET;
    tcp.sin_port = htons(static_cast<std::uint16_t>(address->port));
    tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(address->is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int connected = address->is_unix
                              ? connect(fd, reinterpret_cast<sockaddr*>(&local), sizeof(local))
                              : connect(fd, reinterpret_cast<sockaddr*>(&tcp), sizeof(tcp));
    EXPECT_EQ(connected, 0) << std::strerror(errno);
    return fd;
  }

  int fd_;
};

class HttpServerTest : public ::testing::Test {
 protected:
  std::unique_ptr<HttpServer> start(const std::string& address) {
    const auto answer = [this](const std::string& path, const terms::Peer& /*peer*/) {
      return HttpAnswer{path == "/metrics" ? 200 : 404, std::string(kPlainText), body_};
    };
    auto server = HttpServer::start(*rpc::wire::parse_address(address), {}, answer, log_);
    EXPECT_TRUE(server.is_ok()) << server.status().to_string();
    return std::move(*server);
  }

  sluice::testing::TempDir folder_;
  service::NoLog log_;
  std::string body_ = "a 1\n";
};

TEST_F(HttpServerTest, GetHasItsAnswerOverTcpAndOverAUnixSocket) {
  for (const std::string& address :
       {std::string("127.0.0.1:0"), "unix:" + (folder_ / "m.sock").string()}) {
    const auto server = start(address);
    const Connection connection(*server);
    connection.write(kGet);
    const std::string answer = connection.read();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\nContent-Length: 4\r\n"));
    EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n"));
    EXPECT_THAT(answer, EndsWith("\r\n\r\na 1\n"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "m.sock"));
}

TEST_F(HttpServerTest, SplitRequestsAndLongResponsesWork) {
  body_.assign(8'000'000, 'x');  // more than a socket holds
  const auto server = start("127.0.0.1:0");
  const Connection connection(*server);
  connection.write(kGet.substr(0, 7));
  const Connection other(*server);
  other.write(kGet);
  EXPECT_TRUE(other.read().ends_with("\r\n\r\n" + body_));
  connection.write(kGet.substr(7));
  EXPECT_TRUE(connection.read().ends_with("\r\n\r\n" + body_));
}

TEST_F(HttpServerTest, NonGetRequestsGetAnErrorEvenWhenEndless) {
  const auto server = start("127.0.0.1:0");
  const auto answer_to = [&](const std::string& request) {
    const Connection connection(*server);
    connection.write(request);
    return connection.read();
  };
  const std::string post = answer_to("POST /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(post, StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(post, HasSubstr("\r\nAllow: GET\r\n"));
  EXPECT_THAT(answer_to("rubbish\r\n\r\n"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(answer_to(std::string(100'000, 'x')), StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(answer_to("GET /other HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
}

TEST_F(HttpServerTest, SilentAndDisconnectingClientsDoNotHinderOthers) {
  const auto server = start("127.0.0.1:0");
  for (int i = 0; i < 200; ++i) {
    const Connection gone(*server);
    gone.write(kGet.substr(0, static_cast<std::size_t>(i) % kGet.size()));
  }
  std::vector<std::unique_ptr<Connection>> silent;
  for (std::size_t i = 0; i < 2 * HttpServer::kMaxConnections; ++i) {
    silent.push_back(std::make_unique<Connection>(*server));
  }
  std::string answer;
  while (answer.empty()) {  // until the server has seen that the first ones are gone
    const Connection connection(*server);
    connection.write(kGet);
    answer = connection.read();
  }
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpServerTest, ShutdownClosesWaitingConnections) {
  auto server = start("127.0.0.1:0");
  const Connection connection(*server);
  connection.write(kGet.substr(0, 7));
  server = nullptr;
  EXPECT_EQ(connection.read(), "");
}

TEST_F(HttpServerTest, PortThatIsTakenIsRefused) {
  const auto server = start("127.0.0.1:0");
  const auto second = HttpServer::start(*rpc::wire::parse_address(server->address()), {}, {}, log_);
  EXPECT_EQ(second.status().code(), Code::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr(server->address()));
}

}  // namespace
}  // namespace sluice::daemon
