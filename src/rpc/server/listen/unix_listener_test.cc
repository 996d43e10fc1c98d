#include "rpc/server/listen/unix_listener.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "support/eventually.h"
#include "support/paths.h"

namespace sluice::rpc::server {
namespace {

using sluice::testing::eventually;

void connect_and_close(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  close(fd);
}

// Regression: the table of peers grew with every connection.
TEST(UnixListener, DescriptorNumbersAreReusedLate) {
  const sluice::testing::TempDir folder;
  service::NoLog log;
  UnixSocketOptions options;
  options.path = (folder / "s").string();
  std::set<int> numbers;  // of the listener's thread until it has ended
  std::atomic<int> count = 0;
  std::atomic<bool> came_soon = false;
  const auto on_accept = [&](int fd, const terms::Peer& /*peer*/) {
    const bool is_new = numbers.insert(fd).second;
    if (!is_new && count < 500) came_soon = true;
    close(fd);
    ++count;
  };
  auto listener = UnixListener::create(options, on_accept, log);
  ASSERT_TRUE(listener.is_ok()) << listener.status().to_string();
  constexpr int kConnections = 9000;
  for (int i = 0; i < kConnections; ++i) {
    connect_and_close(options.path);
    EXPECT_TRUE(eventually([&] { return count > i; }));
  }
  listener = make_error(Code::kCancelled, "ended");
  EXPECT_FALSE(came_soon);
  EXPECT_LE(numbers.size(), 8192U + 1);
}

}  // namespace
}  // namespace sluice::rpc::server
