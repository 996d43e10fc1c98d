#include "shm/fd_socket.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <vector>

#include "base/system/descriptors.h"

namespace sluice::shm {
namespace {

class FdSocketTest : public ::testing::Test {
 protected:
  FdSocketTest() {
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    a_ = Fd(ends[0]);
    b_ = Fd(ends[1]);
  }

  Fd a_;
  Fd b_;
  std::array<std::byte, 64> bytes_ = {};
};

TEST_F(FdSocketTest, ReceivedDescriptorIsTheSameFile) {
  const Fd sent(eventfd(0, EFD_CLOEXEC));
  bytes_[3] = std::byte{7};
  ASSERT_TRUE(send_with_fd(a_.get(), bytes_, sent.get()).is_ok());
  std::array<std::byte, 64> back = {};
  const Received received = receive_with_fd(b_.get(), back);
  EXPECT_EQ(received.num_bytes, 64U);
  EXPECT_EQ(back, bytes_);
  ASSERT_TRUE(received.fd.is_valid());
  struct stat was = {};
  struct stat is = {};
  ASSERT_EQ(fstat(sent.get(), &was), 0);
  ASSERT_EQ(fstat(received.fd.get(), &is), 0);
  EXPECT_EQ(was.st_ino, is.st_ino);
}

TEST_F(FdSocketTest, EmptySocketDiffersFromClosedSocket) {
  Received received = receive_with_fd(b_.get(), bytes_);
  EXPECT_EQ(received.num_bytes, 0U);
  EXPECT_FALSE(received.is_closed);
  a_ = Fd();
  received = receive_with_fd(b_.get(), bytes_);
  EXPECT_TRUE(received.is_closed);
  EXPECT_FALSE(send_with_fd(b_.get(), bytes_, -1).is_ok());
}

/// Sends `count` descriptors with one byte.
void send_many(int socket, std::size_t count) {
  const Fd file(eventfd(0, EFD_CLOEXEC));
  const std::vector<int> fds(count, file.get());
  std::vector<std::byte> control(CMSG_SPACE(count * sizeof(int)));
  char byte = 0;
  iovec data = {&byte, 1};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(part), fds.data(), count * sizeof(int));
  ASSERT_EQ(sendmsg(socket, &message, 0), 1);
}

TEST_F(FdSocketTest, FirstOfManyDescriptorsIsKeptAndNoneLeaks) {
  const std::int64_t before = descriptor_use().num_open;
  for (const std::size_t count : {2, 4, 5, 100, 253}) {
    send_many(a_.get(), count);
    EXPECT_TRUE(receive_with_fd(b_.get(), bytes_).fd.is_valid());
    EXPECT_EQ(descriptor_use().num_open, before) << count;  // no other thread opens any
  }
}

}  // namespace
}  // namespace sluice::shm
