#include "daemon/http/http_door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "support/eventually.h"
#include "support/paths.h"

namespace sluice::daemon {
namespace {

using sluice::testing::eventually;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

int connect_to(const std::string& text) {
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

class HttpDoorTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<HttpDoor>> start(const std::string& address) {
    const auto text = [this](const terms::Peer& peer,
                             service::MetricsForm /*form*/) -> Result<std::string> {
      if (is_refused_) return make_error(Code::kPermissionDenied, "not for you");
      return std::string(peer.is_local() ? "local 1\n" : "remote 1\n");
    };
    return HttpDoor::start(*rpc::wire::parse_address(address), serving_, {}, metrics_handler(text),
                           nullptr, log_);
  }
  static std::string answer_to(const HttpDoor& door, const std::string& line) {
    const int fd = connect_to(door.address());
    const std::string request = line + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    std::string all;
    std::array<char, 4096> buffer = {};
    for (ssize_t size = 1; size > 0;) {
      size = recv(fd, buffer.data(), buffer.size(), 0);
      if (size > 0) all.append(buffer.data(), static_cast<std::size_t>(size));
    }
    close(fd);
    return all;
  }

  sluice::testing::TempDir folder_;
  service::NoLog log_;
  rpc::server::ServerOptions serving_;
  bool is_refused_ = false;
};

TEST_F(HttpDoorTest, MetricsAreReadOverTcpAndOverAUnixSocket) {
  const std::string path = (folder_ / "m.sock").string();
  {
    const auto local = start("unix:" + path);
    ASSERT_TRUE(local.is_ok()) << local.status().to_string();
    const std::string answer = answer_to(**local, "GET /metrics");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(answer,
                HasSubstr("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
    EXPECT_THAT(answer, EndsWith("\r\n\r\nlocal 1\n"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  const auto tcp = start("127.0.0.1:0");
  ASSERT_TRUE(tcp.is_ok()) << tcp.status().to_string();
  EXPECT_THAT(answer_to(**tcp, "GET /metrics?name[]=x"), EndsWith("\r\n\r\nremote 1\n"));
}

TEST_F(HttpDoorTest, OtherPathsMethodsAndClientsAreRefused) {
  const auto door = start("127.0.0.1:0");
  ASSERT_TRUE(door.is_ok()) << door.status().to_string();
  EXPECT_THAT(answer_to(**door, "GET /other"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
  const std::string post = answer_to(**door, "POST /metrics");
  EXPECT_THAT(post, StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_THAT(post, HasSubstr("\r\nAllow: GET, HEAD\r\n"));
  is_refused_ = true;
  EXPECT_THAT(answer_to(**door, "GET /metrics"), StartsWith("HTTP/1.1 403 Forbidden\r\n"));
}

TEST_F(HttpDoorTest, OneHostHasSoManyConnectionsAndNoMore) {
  serving_.connections_per_peer = 2;
  const auto door = start("127.0.0.1:0");
  ASSERT_TRUE(door.is_ok()) << door.status().to_string();
  const int first = connect_to((*door)->address());
  const int second = connect_to((*door)->address());
  EXPECT_EQ(answer_to(**door, "GET /metrics"), "") << "the third is closed";
  close(first);
  close(second);
  EXPECT_TRUE(eventually(
      [&] { return answer_to(**door, "GET /metrics").starts_with("HTTP/1.1 200 OK\r\n"); }));
}

TEST_F(HttpDoorTest, PortThatIsTakenIsRefused) {
  const auto door = start("127.0.0.1:0");
  ASSERT_TRUE(door.is_ok()) << door.status().to_string();
  EXPECT_EQ(start((*door)->address()).status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace sluice::daemon
