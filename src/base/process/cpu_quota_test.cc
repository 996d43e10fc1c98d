#include "base/process/cpu_quota.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/paths.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

class CpuQuota : public ::testing::Test {
 protected:
  void write(const fs::path& path, const std::string& text) const {
    const fs::path whole = folder_.path() / path;
    fs::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  std::int32_t cores() const { return cores_within_quota(8, folder_ / "proc", folder_.path()); }

  testing::TempDir folder_;
};

TEST_F(CpuQuota, WithoutControlGroupsAllCoresCount) { EXPECT_EQ(cores(), 8); }

TEST_F(CpuQuota, LeastOfAllGroupsAboveCountsInVersion2) {
  write("proc/cgroup", "0::/box/a\n");
  write("proc/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
  write("sys/fs/cgroup/box/a/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(), 8);
  write("sys/fs/cgroup/box/cpu.max", "400000 100000\n");
  EXPECT_EQ(cores(), 4);
  write("sys/fs/cgroup/box/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(cores(), 2) << "a part of a core is worth a thread";
  write("sys/fs/cgroup/box/a/cpu.max", "1000 100000\n");
  EXPECT_EQ(cores(), 1);
  write("sys/fs/cgroup/box/a/cpu.max", "9900000 100000\n");
  EXPECT_EQ(cores(), 4) << "that of the group above";
}

TEST_F(CpuQuota, ControllerOfVersion1HasTwoFiles) {
  write("proc/cgroup", "4:cpu,cpuacct:/docker/1a2b\n0::/\n");
  write("proc/mountinfo",
        "35 31 0:32 /docker/1a2b /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(cores(), 8);
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(cores(), 3);
}

TEST_F(CpuQuota, FilesThatMakeNoSenseDoNotCount) {
  write("proc/cgroup", "0::/\n");
  write("proc/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  for (const char* text : {"", "100000", "100000 0", "-5 100000", "many 100000"}) {
    write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(cores(), 8) << text;
  }
}

TEST(CpuQuotaOfThisProcess, IsAtLeastOneCoreAndAtMostAll) {
  EXPECT_GE(cores_within_quota(4), 1);
  EXPECT_LE(cores_within_quota(4), 4);
  EXPECT_EQ(cores_within_quota(0), 1);
}

}  // namespace
}  // namespace sluice
