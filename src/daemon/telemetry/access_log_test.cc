#include "daemon/telemetry/access_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/file.h"
#include "support/eventually.h"
#include "support/full_disk.h"
#include "telemetry/access_line.h"

namespace sluice::daemon {
namespace {

TEST(AccessLog, CountsOnlyLinesThatFindNoRoomAsLost) {
  constexpr std::int64_t kNumLines = 100;
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe2(fds.data(), O_CLOEXEC), 0);
  const FileDescriptor in(fds[0]);
  const FileDescriptor out(fds[1]);
  ASSERT_GT(fcntl(out.get(), F_SETPIPE_SZ, 16384), 0);
  const FileDescriptor console(dup(STDERR_FILENO));
  auto record = std::make_shared<telemetry::RequestRecord>();
  record->model = std::string(1000, 'm');
  const auto num_bytes = static_cast<std::int64_t>(telemetry::access_line(*record).size());
  const auto num_written = [&] {
    int num_held = 0;
    EXPECT_EQ(ioctl(in.get(), FIONREAD, &num_held), 0);
    return num_held / num_bytes;
  };
  ASSERT_EQ(dup2(out.get(), STDERR_FILENO), STDERR_FILENO);
  {
    const auto log = AccessLog::open("stderr", [](const Status&) {});
    ASSERT_TRUE(log.is_ok());
    for (std::int64_t i = 0; i < kNumLines; ++i) (*log)->add(record);
    EXPECT_TRUE(testing::eventually(
        [&] { return (*log)->num_lost() > 0 && (*log)->num_lost() + num_written() >= kNumLines; }));
    EXPECT_EQ((*log)->num_lost() + num_written(), kNumLines);
  }
  dup2(console.get(), STDERR_FILENO);
  EXPECT_GT(num_written(), 0);
}

TEST(AccessLog, BeginsANewLineBehindOneThatAFullDiskTore) {
  const std::string path = ::testing::TempDir() + "torn_access.log";
  std::filesystem::remove(path);
  auto record = std::make_shared<telemetry::RequestRecord>();
  record->model = "m";
  const std::string line = telemetry::access_line(*record);
  {
    const auto log = AccessLog::open(path, [](const Status&) {});
    ASSERT_TRUE(log.is_ok());
    {
      const testing::FullDisk full(line.size() + line.size() / 2);
      (*log)->add(record);
      (*log)->add(record);
      EXPECT_TRUE(testing::eventually([&] { return (*log)->num_lost() > 0; }));
    }
    EXPECT_EQ((*log)->num_lost(), 1) << "the first one is there";
    (*log)->add(record);
  }
  const auto text = read_text_file(path);
  ASSERT_TRUE(text.is_ok());
  EXPECT_EQ(*text, line + line.substr(0, line.size() / 2) + "\n" + line);
}

}  // namespace
}  // namespace sluice::daemon
