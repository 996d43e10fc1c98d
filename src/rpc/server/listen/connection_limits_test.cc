#include "rpc/server/listen/connection_limits.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "rpc/server/listen/tcp_listener.h"
#include "service/clients/refusals.h"
#include "support/eventually.h"

namespace sluice::rpc::server {
namespace {

using sluice::testing::eventually;

int new_socket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

TEST(ConnectionLimits, ClosedConnectionMakesRoom) {
  ConnectionLimits limits(3, 2);
  const int a = new_socket();
  const int b = new_socket();
  const int c = new_socket();
  const int d = new_socket();
  EXPECT_TRUE(limits.admit(a, "user 1").is_ok());
  EXPECT_TRUE(limits.admit(b, "user 1").is_ok());
  EXPECT_EQ(limits.admit(c, "user 1").code(), Code::kResourceExhausted);
  EXPECT_TRUE(limits.admit(c, "user 2").is_ok());
  EXPECT_EQ(limits.admit(d, "user 3").code(), Code::kResourceExhausted) << "three in all";
  close(a);
  EXPECT_TRUE(limits.admit(d, "user 1").is_ok());
  for (const int fd : {b, c, d}) close(fd);
}

int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return fd;
}

/// gRPC's listener never accepts again after this.
TEST(TcpListener, AcceptsAgainAfterTheProcessHadNoDescriptors) {
  service::NoLog log;
  std::atomic<int> accepted = 0;
  const auto on_accept = [&](int fd, const terms::Peer& peer, const std::string& host) {
    EXPECT_EQ(host, "127.0.0.1");
    EXPECT_EQ(peer.user, -1);
    close(fd);
    ++accepted;
  };
  auto listener = TcpListener::create("127.0.0.1", 0, on_accept, log);
  ASSERT_TRUE(listener.is_ok()) << listener.status().to_string();
  std::vector<int> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const std::int64_t refused = service::num_refused_connections();
  const rlimit none = {3, before.rlim_max};  // no descriptor above those that are open
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>((*listener)->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (const int fd : clients) {
    connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  EXPECT_TRUE(eventually([&] { return service::num_refused_connections() >= refused + 3; }));
  EXPECT_EQ(accepted, 0);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const int fd : clients) close(fd);
  accepted = 0;
  const int again = connect_to((*listener)->port());
  EXPECT_TRUE(eventually([&] { return accepted >= 1; }));
  close(again);
}

}  // namespace
}  // namespace sluice::rpc::server
