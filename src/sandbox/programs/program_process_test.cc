#include "sandbox/programs/program_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "sandbox/programs/testing/shell_program.h"

namespace sluice::sandbox {
namespace {

using ::testing::HasSubstr;
using testing::shell_program;

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Programs : public ::testing::Test {
 protected:
  Programs() { signal(SIGPIPE, SIG_IGN); }

  static Result<std::string> ask(const std::string& script, std::string_view request,
                                 bool stays = false, std::int64_t limit_ns = -1) {
    auto process = SLUICE_TRY(ProgramProcess::start(shell_program(script)));
    return text_of(SLUICE_TRY(process->ask(std::as_bytes(std::span(request)), stays,
                                           deadline_after(system_clock(), limit_ns), {})));
  }
};

TEST_F(Programs, ReadARequestUntilItEndsAndWriteTheReply) {
  EXPECT_EQ(ask("tr a-z A-Z", "some words").value(), "SOME WORDS");
  EXPECT_EQ(ask("cat", "").value(), "");
}

TEST_F(Programs, TakeRequestsAndRepliesLongerThanPipes) {
  std::string request(5'000'000, 'x');
  for (std::size_t i = 0; i < request.size(); i += 4096)
    request[i] = static_cast<char>('a' + i % 7);
  EXPECT_EQ(ask("cat", request).value(), request);
}

TEST_F(Programs, NeedNotReadTheirRequest) {
  EXPECT_EQ(ask("exec <&-; echo done", std::string(1'000'000, 'x')).value(), "done\n");
}

TEST_F(Programs, FailWithTheirExitCodeAndLastWords) {
  const auto failed = ask("echo no luck >&2; exit 3", "x");
  EXPECT_EQ(failed.status().code(), Code::kInternal);
  EXPECT_THAT(failed.status().message(), HasSubstr("exit code 3: no luck"));
  EXPECT_THAT(ask("kill -9 $$", "x").status().message(), HasSubstr("SIGKILL"));
}

TEST_F(Programs, EndAtTheirDeadlineEvenIfTheyOnlyCloseTheirOutput) {
  for (const char* script : {"sleep 1000", "exec >&-; sleep 1000"}) {
    EXPECT_EQ(ask(script, "x", false, 50'000'000).status().code(), Code::kDeadlineExceeded);
  }
}

TEST_F(Programs, EndWhenTheRequestIsCancelled) {
  std::stop_source stop;
  stop.request_stop();
  auto process = ProgramProcess::start(shell_program("sleep 1000"));
  ASSERT_TRUE(process.is_ok());
  EXPECT_EQ((*process)->ask({}, false, kNoDeadline, stop.get_token()).status().code(),
            Code::kCancelled);
}

TEST_F(Programs, ThatStayAnswerRequestAfterRequest) {
  // The length of both requests is 3.
  auto process = ProgramProcess::start(
      shell_program("while true; do head -c 8; head -c 3 | tr a-z A-Z; done"));
  ASSERT_TRUE(process.is_ok());
  for (const char* request : {"abc", "xyz"}) {
    const auto reply = (*process)->ask(std::as_bytes(std::span(request, 3)), true, kNoDeadline, {});
    ASSERT_TRUE(reply.is_ok()) << reply.status().message();
    EXPECT_EQ(text_of(*reply), std::string(request) == "abc" ? "ABC" : "XYZ");
  }
}

TEST_F(Programs, ThatStayFailWhereTheReplyIsNone) {
  EXPECT_THAT(ask("printf ffffffff", "x", true).status().message(), HasSubstr("longer than"));
  EXPECT_THAT(ask("printf ab", "x", true).status().message(), HasSubstr("ended before"));
  EXPECT_THAT(ask("printf '\\001\\000\\000\\000\\000\\000\\000\\000ab'; sleep 1000", "x", true)
                  .status()
                  .message(),
              HasSubstr("more than its reply"));
}

TEST_F(Programs, ThatDoNotStartSayWhy) {
  const auto missing = ProgramProcess::start({"/no/such/file"});
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  const auto told = ProgramProcess::start({"/bin/sh", "-c", "echo no room >&3"});
  EXPECT_THAT(told.status().message(), HasSubstr("no room"));
}

}  // namespace
}  // namespace sluice::sandbox
