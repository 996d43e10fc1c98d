#include "rpc/unix_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <future>

#include "support/paths.h"

namespace sluice::rpc {
namespace {

using ::testing::HasSubstr;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

int socket_at(const std::string& path, bool is_server) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = address_of(path);
  const auto* plain = reinterpret_cast<const sockaddr*>(&address);
  EXPECT_EQ(is_server ? bind(fd, plain, sizeof(address)) : connect(fd, plain, sizeof(address)), 0);
  if (is_server) {
    EXPECT_EQ(listen(fd, 1), 0);
  }
  return fd;
}

class UnixListenerTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<UnixListener>> listen_at(UnixSocketOptions options) {
    options.path = path_;
    return UnixListener::create(
        options,
        [this](int fd, const service::Peer& peer) {
          close(fd);
          peer_.set_value(peer);
        },
        log_);
  }

  sluice::testing::TempDir folder_;
  const std::string path_ = (folder_ / "s").string();
  service::NoLog log_;
  std::promise<service::Peer> peer_;
};

TEST_F(UnixListenerTest, TellsWhoConnectsAndRemovesItsSocketAtTheEnd) {
  {
    const auto listener = listen_at({.mode = 0640});
    ASSERT_TRUE(listener.is_ok()) << listener.status().to_string();
    struct stat info = {};
    ASSERT_EQ(stat(path_.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0640U);
    const int fd = socket_at(path_, /*is_server=*/false);
    const service::Peer peer = peer_.get_future().get();
    EXPECT_EQ(peer.process, getpid());
    EXPECT_EQ(peer.user, static_cast<std::int64_t>(getuid()));
    close(fd);
  }
  EXPECT_NE(access(path_.c_str(), F_OK), 0);
}

TEST_F(UnixListenerTest, ASocketThatIsServedIsRefusedAndOneThatIsLeftIsReplaced) {
  const int other = socket_at(path_, /*is_server=*/true);
  auto refused = listen_at({});
  ASSERT_FALSE(refused.is_ok());
  EXPECT_EQ(refused.status().code(), Code::kAlreadyExists);
  EXPECT_EQ(access(path_.c_str(), F_OK), 0) << "it is the other's";
  close(other);
  EXPECT_TRUE(listen_at({}).is_ok());
}

TEST_F(UnixListenerTest, AFileIsNotReplaced) {
  std::ofstream(path_) << "precious";
  const auto listener = listen_at({});
  ASSERT_FALSE(listener.is_ok());
  EXPECT_THAT(listener.status().message(), HasSubstr("no socket is there"));
  EXPECT_EQ(access(path_.c_str(), F_OK), 0);
}

TEST_F(UnixListenerTest, AGroupThatIsNotThereIsNamedWithTheCommandThatMakesIt) {
  const auto listener = listen_at({.group = "no-such-group"});
  ASSERT_FALSE(listener.is_ok());
  EXPECT_THAT(listener.status().message(), HasSubstr("groupadd --system no-such-group"));
}

}  // namespace
}  // namespace sluice::rpc
