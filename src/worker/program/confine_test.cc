#include "worker/program/confine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>

#include "base/process/privileges.h"
#include "support/eventually.h"

namespace sluice::worker {
namespace {

using sluice::testing::eventually;

/// The outcome of an action in a confined process, as its exit code.
enum class Outcome { kAllowed = 0, kDenied = 1, kOther = 2, kNotConfined = 3 };

bool has_filter() {
  return syscall(SYS_seccomp, 2 /* GET_ACTION_AVAIL */, 0, nullptr) != 0 && errno != ENOSYS;
}

/// `attempt`: at least 0 if it succeeds; else errno says why not.
Outcome confined(const std::function<long()>& attempt) {
  const pid_t child = fork();
  if (child == 0) {
    const std::int64_t user = geteuid() == 0 ? 65534 : -1;
    if (!drop_privileges(user, user).is_ok() || !filter_system_calls().is_ok()) {
      _exit(static_cast<int>(Outcome::kNotConfined));
    }
    const bool is_done = attempt() >= 0;
    const Outcome failed = errno == EPERM ? Outcome::kDenied : Outcome::kOther;
    _exit(static_cast<int>(is_done ? Outcome::kAllowed : failed));
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? static_cast<Outcome>(WEXITSTATUS(status)) : Outcome::kOther;
}

class Confine : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_filter()) GTEST_SKIP() << "this kernel does not filter system calls";
  }
};

TEST_F(Confine, NetworkIsDenied) {
  EXPECT_EQ(confined([] { return socket(AF_INET, SOCK_STREAM, 0); }), Outcome::kDenied);
  EXPECT_EQ(confined([] { return socket(AF_UNIX, SOCK_STREAM, 0); }), Outcome::kDenied);
  std::array<int, 2> ends = {};
  EXPECT_EQ(confined([&] { return socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()); }),
            Outcome::kDenied);
}

TEST_F(Confine, FilesAreOpenedForReadingOnly) {
  EXPECT_EQ(confined([] { return open("/dev/null", O_RDONLY); }), Outcome::kAllowed);
  for (const int flags : {O_WRONLY, O_RDWR, O_RDONLY | O_TRUNC, O_RDONLY | O_CREAT}) {
    EXPECT_EQ(confined([&] { return open("/dev/null", flags, 0600); }), Outcome::kDenied) << flags;
  }
  EXPECT_EQ(confined([] { return open("/tmp", O_TMPFILE | O_RDWR, 0600); }), Outcome::kDenied);
  EXPECT_EQ(confined([] { return unlink("/tmp/none"); }), Outcome::kDenied);
  EXPECT_EQ(confined([] { return mkdir("/tmp/sluice-none", 0700); }), Outcome::kDenied);
}

TEST_F(Confine, OtherProcessesAreOutOfReach) {
  EXPECT_EQ(confined([] { return kill(getppid(), 0); }), Outcome::kDenied);
  EXPECT_EQ(confined([] { return syscall(SYS_tgkill, getppid(), getppid(), 0); }),
            Outcome::kDenied);
  EXPECT_EQ(confined([] { return ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr); }),
            Outcome::kDenied);
  EXPECT_EQ(confined([] { return fork(); }), Outcome::kDenied);
}

TEST_F(Confine, NothingIsExecuted) {
  EXPECT_EQ(confined([] { return execl("/bin/true", "true", nullptr); }), Outcome::kDenied);
  EXPECT_EQ(confined([] {
              const void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return memory == MAP_FAILED ? -1 : 0;
            }),
            Outcome::kDenied);
}

TEST_F(Confine, ChangingUserAndMountingAreDenied) {
  EXPECT_EQ(confined([] { return setresuid(0, 0, 0); }), Outcome::kDenied);
  EXPECT_EQ(confined([] { return chroot("/"); }), Outcome::kDenied);
  EXPECT_EQ(confined([] { return syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */); }),
            Outcome::kDenied);
}

TEST_F(Confine, MemoryAndThreadsStillWork) {
  EXPECT_EQ(confined([] {
              const void* memory = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              return memory == MAP_FAILED ? -1 : 0;
            }),
            Outcome::kAllowed);
  EXPECT_EQ(confined([] {
              int answer = -1;
              std::thread([&] { answer = 0; }).join();
              return answer;
            }),
            Outcome::kAllowed);
}

TEST_F(Confine, ExistingThreadsAreConfined) {
  EXPECT_EQ(confined([] { return 0; }), Outcome::kAllowed);
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<bool> is_confined = false;
    long answer = 0;
    std::thread before([&] {
      EXPECT_TRUE(eventually([&] { return is_confined.load(); }));
      answer = socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM ? 0 : 1;
    });
    const bool is_done = drop_privileges(-1, -1).is_ok() && filter_system_calls().is_ok();
    is_confined = true;
    before.join();
    _exit(is_done ? static_cast<int>(answer) : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace sluice::worker
