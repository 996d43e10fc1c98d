#include "base/process/child.h"

#include <gmock/gmock.h>
#include <signal.h>

namespace sluice {
namespace {

using ::testing::HasSubstr;

constexpr const char* kShell = "/bin/sh";

Result<ChildEnd> run_shell(const std::string& script, const ChildLimits& limits = {},
                           const std::stop_token& stop = {}) {
  return run_child(kShell, {"sh", "-c", script}, limits, stop);
}

TEST(RunChild, KeepsOutputAndErrorsApart) {
  const auto end = run_shell("echo out; echo err >&2");
  ASSERT_TRUE(end.is_ok()) << end.status().to_string();
  EXPECT_TRUE(end->is_success());
  EXPECT_EQ(end->output, "out\n");
  EXPECT_EQ(end->errors, "err\n");
}

TEST(RunChild, SaysHowItEnded) {
  EXPECT_EQ(describe_end(run_shell("exit 3")->status), "exit code 3");
  EXPECT_EQ(describe_end(run_shell("kill -9 $$")->status), "signal 9 (SIGKILL)");
  EXPECT_EQ(run_child("/no/such/program", {"x"}).status().code(), Code::kNotFound);
}

TEST(RunChild, KeepsTheEndOfALongOutput) {
  const auto end = run_shell("head -c 1000000 /dev/zero | tr '\\0' x; echo end");
  ASSERT_TRUE(end.is_ok());
  EXPECT_EQ(end->output.size(), 65536U);
  EXPECT_TRUE(end->output.ends_with("xend\n"));
}

TEST(RunChild, KillsWhatTakesTooLong) {
  const auto end = run_shell("exec sleep 1000", {.time_ns = 20'000'000});
  EXPECT_EQ(end.status().code(), Code::kDeadlineExceeded);
}

TEST(RunChild, KillsWhatIsNoLongerWanted) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(run_shell("exec sleep 1000", {}, stop.get_token()).status().code(), Code::kCancelled);
}

TEST(RunChild, LimitsMemory) {
  const auto end = run_shell("sleep 0.2; ulimit -v", {.memory_bytes = 1 << 30});
  ASSERT_TRUE(end.is_ok());
  EXPECT_EQ(end->output, "1048576\n");
}

TEST(RunChild, BlocksNoSignal) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  EXPECT_EQ(describe_end(run_shell("kill -TERM $$")->status), "signal 15 (SIGTERM)");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace sluice
