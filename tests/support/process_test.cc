#include "support/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <new>

#include "support/eventually.h"
#include "support/sanitizer.h"

namespace sluice::testing {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

std::unique_ptr<std::byte[]> allocate(std::int64_t bytes) {
  return std::unique_ptr<std::byte[]>(new (std::nothrow)
                                          std::byte[static_cast<std::size_t>(bytes)]);
}

TEST(MemoryLimit, AllocationsBeyondItFailUntilItEnds) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer has memory of its own";
  {
    const MemoryLimit limit(getpid(), 64 * kMiB);
    EXPECT_NE(allocate(48 * kMiB), nullptr);
    EXPECT_EQ(allocate(128 * kMiB), nullptr);
  }
  EXPECT_NE(allocate(128 * kMiB), nullptr);
}

TEST(ProcessFigures, CountDescriptorsAndThreadsOfAProcess) {
  const ProcessFigures before = figures_of(getpid());
  EXPECT_GT(before.num_fds, 2);
  EXPECT_GT(before.num_mappings, 2);
  EXPECT_EQ(before.num_threads, static_cast<std::int64_t>(threads_of(getpid()).size()));
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(figures_of(getpid()).num_fds, before.num_fds + 1);
  close(fd);
  EXPECT_EQ(figures_of(-1).num_threads, 0);
}

TEST(ProcessFigures, StateAndStatusAreThoseOfTheSystem) {
  EXPECT_EQ(state_of(getpid(), gettid()), 'R') << "it looks at itself";
  EXPECT_EQ(state_of(-1, -1), '\0');
  EXPECT_EQ(status_of(getpid(), "Pid"), std::to_string(getpid()));
  EXPECT_EQ(status_of(getpid(), "No such line"), "");
  EXPECT_FALSE(kill_child(getpid(), getpid())) << "it is no child of itself";
}

TEST(Suspend, StopsEveryThreadUntilItIsContinued) {
  const pid_t child = fork();
  if (child == 0) {
    while (true) pause();
  }
  EXPECT_TRUE(suspend(child));
  EXPECT_EQ(state_of(child, child), 'T');
  kill(child, SIGCONT);
  EXPECT_TRUE(eventually([&] { return state_of(child, child) == 'S'; }));
  EXPECT_TRUE(kill_child(getpid(), child));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_FALSE(suspend(child)) << "no such process";
}

}  // namespace
}  // namespace sluice::testing
