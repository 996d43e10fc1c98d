#include "base/system/descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice {
namespace {

TEST(Descriptors, AreCountedAgainstTheirLimit) {
  const DescriptorUse before = descriptor_use();
  EXPECT_GE(before.num_open, 1);
  EXPECT_GT(before.max_open, before.num_open);
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(descriptor_use().num_open, before.num_open + 1);
  close(fd);
  EXPECT_EQ(descriptor_use().num_open, before.num_open);
}

}  // namespace
}  // namespace sluice
