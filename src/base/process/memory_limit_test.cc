#include "base/process/memory_limit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/paths.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMachine = std::int64_t{8} << 30;
constexpr std::int64_t kMiB = 1 << 20;

class MemoryLimit : public ::testing::Test {
 protected:
  void write(const fs::path& path, const std::string& text) const {
    const fs::path whole = folder_.path() / path;
    fs::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  std::int64_t least() const {
    return least_memory_limit(kMachine, folder_ / "proc", folder_.path());
  }

  testing::TempDir folder_;
};

TEST_F(MemoryLimit, WithoutControlGroupsTheMachineCounts) { EXPECT_EQ(least(), kMachine); }

TEST_F(MemoryLimit, LeastOfAllGroupsAboveCountsInVersion2) {
  write("proc/cgroup", "0::/system.slice/sluiced.service\n");
  write("proc/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
  write("sys/fs/cgroup/system.slice/sluiced.service/memory.max", "max\n");
  EXPECT_EQ(least(), kMachine);
  write("sys/fs/cgroup/system.slice/memory.max", std::to_string(512 * kMiB) + "\n");
  EXPECT_EQ(least(), 512 * kMiB);
  write("sys/fs/cgroup/system.slice/sluiced.service/memory.max", std::to_string(64 * kMiB) + "\n");
  EXPECT_EQ(least(), 64 * kMiB);
}

TEST_F(MemoryLimit, ControllerOfVersion1CountsBesideAnEmptyUnifiedOne) {
  write("proc/cgroup", "9:name=systemd:/\n4:cpu,memory:/box/a\n0::/\n");
  write("proc/mountinfo",
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "36 31 0:33 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/pids/box/a/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(least(), kMachine);
  write("sys/fs/cgroup/memory/box/a/memory.limit_in_bytes", std::to_string(256 * kMiB) + "\n");
  EXPECT_EQ(least(), 256 * kMiB);
}

TEST_F(MemoryLimit, GroupOfAContainerIsTheRootOfWhatItSees) {
  write("proc/cgroup", "4:memory:/docker/1a2b\n");
  write("proc/mountinfo",
        "35 31 0:32 /docker/1a2b /sys/fs/cgroup/memory ro master:9 - cgroup cgroup rw,memory\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(128 * kMiB) + "\n");
  EXPECT_EQ(least(), 128 * kMiB);
}

TEST_F(MemoryLimit, DamagedFilesDoNotCount) {
  write("proc/cgroup", "4\nmemory\n0::\n::::\n0::/a\n");
  write("proc/mountinfo",
        "\n-\n35 31 - cgroup2\n31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("sys/fs/cgroup/a/memory.max", "-5\n");
  write("sys/fs/cgroup/memory.max", "much\n");
  EXPECT_EQ(least(), kMachine);
}

TEST_F(MemoryLimit, ThisProcessMayUseSome) { EXPECT_GT(usable_memory_bytes(), 0); }

}  // namespace
}  // namespace sluice
