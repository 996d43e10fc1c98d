#include "daemon/logs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string>

#include "base/file.h"
#include "support/full_disk.h"

namespace sluice::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// A log into a pipe with room for four pages.
class PipedLog : public ::testing::Test {
 protected:
  PipedLog() {
    EXPECT_EQ(pipe2(fds_.data(), O_CLOEXEC), 0);
    EXPECT_GT(fcntl(fds_[1], F_SETPIPE_SZ, 16384), 0);
    log_ = console_log(most_, fds_[1]);
  }
  ~PipedLog() override {
    const FileDescriptor in(fds_[0]);
    const FileDescriptor out(fds_[1]);
  }
  std::string read_all() const {
    std::string text(1 << 16U, 0);
    const ssize_t size = read(fds_[0], text.data(), text.size());
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }

  LogThreshold most_ = service::LogLevel::kInfo;
  std::array<int, 2> fds_{};
  std::unique_ptr<service::Log> log_;
};

TEST_F(PipedLog, LineHasTimeLevelAndEvent) {
  log_->write(service::LogLevel::kError, "model.lost name=a");
  const std::string line = read_all();
  EXPECT_THAT(line, ::testing::MatchesRegex(
                        "[0-9-]+T[0-9:]+\\.[0-9][0-9][0-9]Z error model.lost name=a\n"));
}

TEST_F(PipedLog, LinesThatNobodyReadsAreLostAndCounted) {
  for (int i = 0; i < 1000; ++i) log_->write(service::LogLevel::kInfo, std::string(99, 'x'));
  const std::string first = read_all();
  EXPECT_THAT(first, Not(HasSubstr("log.lost")));
  EXPECT_EQ(first.back(), '\n') << "no line is cut";
  const auto num_written = std::ranges::count(first, '\n');
  log_->write(service::LogLevel::kInfo, "again");
  const std::string second = read_all();
  EXPECT_THAT(second, HasSubstr(fmt::format("warning log.lost lines={}\n", 1000 - num_written)));
  EXPECT_THAT(second, HasSubstr("info again\n"));
}

TEST_F(PipedLog, JsonLineHasThePairsOfTheEventAsTexts) {
  log_ = console_log(most_, fds_[1], LogFormat::kJson);
  log_->write(service::LogLevel::kInfo,
              "session.open id=3 client=" + service::in_quotes("a \"b\" c") + " models=2");
  const auto line = nlohmann::json::parse(read_all());
  EXPECT_EQ(line["level"], "info");
  EXPECT_EQ(line["event"], "session.open");
  EXPECT_EQ(line["id"], "3");
  EXPECT_EQ(line["client"], "a \"b\" c");
  EXPECT_EQ(line["models"], "2");
}

TEST_F(PipedLog, JsonLineIsAnObjectHoweverLongItsEventIs) {
  log_ = console_log(most_, fds_[1], LogFormat::kJson);
  log_->write(service::LogLevel::kInfo, std::string(100'000, '\xff'));
  log_->write(service::LogLevel::kInfo, "name " + std::string(100'000, 'x'));
  const std::string text = read_all();
  ASSERT_EQ(std::ranges::count(text, '\n'), 2);
  EXPECT_TRUE(nlohmann::json::accept(text.substr(0, text.find('\n'))));
  EXPECT_TRUE(nlohmann::json::accept(text.substr(text.find('\n'))));
}

TEST_F(PipedLog, LineLongerThanAPageIsCut) {
  log_->write(service::LogLevel::kInfo, std::string(100'000, 'x'));
  const std::string line = read_all();
  EXPECT_EQ(line.size(), 4096U);
  EXPECT_TRUE(line.ends_with("...\n"));
}

TEST(ConsoleLog, BeginsANewLineBehindOneThatAFullDiskTore) {
  const std::string path = ::testing::TempDir() + "torn_console.log";
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  LogThreshold most = service::LogLevel::kInfo;
  const auto log = console_log(most, file.get());
  {
    const testing::FullDisk full(40);
    log->write(service::LogLevel::kInfo, std::string(100, 'x'));
  }
  log->write(service::LogLevel::kInfo, "again");
  const auto text = read_text_file(path);
  ASSERT_TRUE(text.is_ok());
  EXPECT_THAT(*text, ::testing::MatchesRegex(
                         "[^\n]+x\n[^\n]+ warning log.lost lines=1\n[^\n]+ info again\n"));
}

}  // namespace
}  // namespace sluice::daemon
