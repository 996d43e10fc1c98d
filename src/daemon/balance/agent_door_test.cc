#include "daemon/balance/agent_door.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace sluice::daemon {
namespace {

/// What the door says, until the end of the connection.
std::string ask(const AgentDoor& door, std::string_view request) {
  const auto address = rpc::wire::parse_address(door.address());
  EXPECT_TRUE(address.is_ok());
  sockaddr_in tcp = {};
  tcp.sin_family = AF_INET;
  tcp.sin_port = htons(static_cast<std::uint16_t>(address->port));
  tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&tcp), sizeof(tcp)), 0);
  if (!request.empty()) (void)send(fd, request.data(), request.size(), MSG_NOSIGNAL);
  std::string all;
  std::array<char, 256> buffer = {};
  for (ssize_t size = 1; size > 0;) {
    size = recv(fd, buffer.data(), buffer.size(), 0);
    if (size > 0) all.append(buffer.data(), static_cast<std::size_t>(size));
  }
  close(fd);
  return all;
}

TEST(AgentDoor, EveryConnectionGetsTheLineOfItsMoment) {
  service::NoLog log;
  int num_asked = 0;
  const auto door = AgentDoor::start(
      *rpc::wire::parse_address("localhost:0"),
      [&num_asked] { return "up " + std::to_string(++num_asked) + "%\n"; }, log);
  ASSERT_TRUE(door.is_ok()) << door.status().to_string();
  EXPECT_EQ(ask(**door, ""), "up 1%\n");
  EXPECT_EQ(ask(**door, ""), "up 2%\n");
}

TEST(AgentDoor, PortInUseIsRefusedByName) {
  service::NoLog log;
  const auto line = [] { return std::string("up\n"); };
  const auto first = AgentDoor::start(*rpc::wire::parse_address("localhost:0"), line, log);
  ASSERT_TRUE(first.is_ok());
  const auto second = AgentDoor::start(*rpc::wire::parse_address((*first)->address()), line, log);
  ASSERT_FALSE(second.is_ok());
  EXPECT_NE(second.status().message().find("localhost"), std::string::npos)
      << second.status().message();
}

}  // namespace
}  // namespace sluice::daemon
