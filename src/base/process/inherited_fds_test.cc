#include "base/process/inherited_fds.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "support/paths.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

int listen_at(const std::string& name) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), size), 0);
  listen(fd, 1);
  return fd;
}

int listen_on_loopback() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  listen(fd, 1);
  return fd;
}

bool is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

/// Two networks may have the same address.
TEST(IpHost, LinkLocalAddressNamesItsNetwork) {
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  inet_pton(AF_INET6, "fe80::1", &address.sin6_addr);
  address.sin6_scope_id = if_nametoindex("lo");
  const std::string host = ip_host(reinterpret_cast<const sockaddr&>(address));
  EXPECT_EQ(host, "fe80::1%lo");
  EXPECT_EQ(at_port(host, 5555), "[fe80::1%lo]:5555");
}

TEST(InheritedFds, SocketsAreClaimedOnceByTheirAddress) {
  const sluice::testing::TempDir folder;
  const std::string path = (folder / "s").string();
  const int at_path = listen_at(path);
  const int at_name = listen_at(std::string(1, '\0') + "sluice-test/" + std::to_string(getpid()));
  const int at_port = listen_on_loopback();
  const std::string port_address = socket_address(at_port);
  EXPECT_THAT(port_address, StartsWith("127.0.0.1:"));
  InheritedFds inherited;
  ASSERT_TRUE(inherited.add(at_path, true).is_ok());
  ASSERT_TRUE(inherited.add(at_name, false).is_ok());
  ASSERT_TRUE(inherited.add(at_port, false).is_ok());
  const InheritedFds::Claimed first = inherited.claim_socket("unix:" + path);
  EXPECT_EQ(first.fd, at_path);
  EXPECT_TRUE(first.is_managed);
  EXPECT_EQ(inherited.claim_socket("unix:" + path).fd, -1);
  const auto named = inherited.claim_socket("unix:@sluice-test/" + std::to_string(getpid()));
  EXPECT_EQ(named.fd, at_name);
  EXPECT_FALSE(named.is_managed);
  EXPECT_EQ(claim_socket(&inherited, port_address).fd, at_port);
  EXPECT_EQ(claim_socket(nullptr, port_address).fd, -1);
  ASSERT_FALSE(*named.is_taken_over);
  *inherited.taken_over() = true;
  EXPECT_TRUE(*named.is_taken_over);
  for (const int fd : {at_path, at_name, at_port}) close(fd);
}

TEST(InheritedFds, FilesAreClaimedByWhatThePathNamesNow) {
  const sluice::testing::TempDir folder;
  const auto path = folder / "lock";
  const int fd = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  InheritedFds inherited;
  ASSERT_TRUE(inherited.add(fd, false).is_ok());
  EXPECT_EQ(inherited.claim_file(folder / "other"), -1);
  std::filesystem::rename(path, folder / "moved");
  close(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  EXPECT_EQ(inherited.claim_file(path), -1) << "another file has the name now";
  EXPECT_EQ(inherited.claim_file(folder / "moved"), fd);
  EXPECT_EQ(inherited.claim_file(folder / "moved"), -1);
  close(fd);
}

TEST(InheritedFds, OtherDescriptorsAreRefusedAndClosed) {
  InheritedFds inherited;
  const int device = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_THAT(inherited.add(device, true).message(), HasSubstr("not a stream socket"));
  EXPECT_FALSE(is_open(device));
  const int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(inherited.add(silent, true).code(), Code::kInvalidArgument) << "it does not listen";
}

TEST(InheritedFds, WhatNobodyClaimsIsClosed) {
  const int fd = listen_on_loopback();
  {
    InheritedFds first;
    ASSERT_TRUE(first.add(fd, false).is_ok());
    const InheritedFds moved = std::move(first);
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

}  // namespace
}  // namespace sluice
