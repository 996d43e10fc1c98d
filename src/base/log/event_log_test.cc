#include "base/log/event_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace sluice {
namespace {

using ::testing::ElementsAre;

class EventLog : public ::testing::Test {
 protected:
  ~EventLog() override { EXPECT_TRUE(set_log_sink({}, LogLevel::kError).is_ok()); }
};

TEST_F(EventLog, SinkHearsLevelsUpToItsOwn) {
  std::vector<std::string> heard;
  const auto sink = [&](LogLevel, std::string_view event) { heard.emplace_back(event); };
  log_event(LogLevel::kError, "before");
  ASSERT_TRUE(set_log_sink(sink, LogLevel::kInfo).is_ok());
  log_event(LogLevel::kError, "a number={}", 1);
  log_event(LogLevel::kInfo, "b");
  log_event(LogLevel::kDebug, "c");
  ASSERT_TRUE(set_log_sink({}, LogLevel::kDebug).is_ok());
  log_event(LogLevel::kError, "after");
  EXPECT_THAT(heard, ElementsAre("a number=1", "b"));
}

TEST_F(EventLog, ThrowingSinkIsDropped) {
  ASSERT_TRUE(set_log_sink([](LogLevel, std::string_view) { throw std::runtime_error("no"); },
                           LogLevel::kInfo)
                  .is_ok());
  EXPECT_NO_THROW(log_event(LogLevel::kInfo, "event"));
}

TEST_F(EventLog, SinkNeitherHearsItselfNorReplacesItself) {
  int num_heard = 0;
  Status replaced;
  const auto sink = [&](LogLevel, std::string_view) {
    ++num_heard;
    log_event(LogLevel::kError, "own");
    replaced = set_log_sink({}, LogLevel::kInfo);
  };
  ASSERT_TRUE(set_log_sink(sink, LogLevel::kInfo).is_ok());
  log_event(LogLevel::kInfo, "event");
  EXPECT_EQ(num_heard, 1);
  EXPECT_EQ(replaced.code(), Code::kFailedPrecondition);
}

// What the former sink refers to may be gone once the sink is replaced.
TEST_F(EventLog, ReplacementWaitsForTheFormerSink) {
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!is_over) log_event(LogLevel::kInfo, "event");
    });
  }
  for (int i = 0; i < 200; ++i) {
    const auto alive = std::make_unique<std::atomic<bool>>(true);
    const auto sink = [&](LogLevel, std::string_view) { EXPECT_TRUE(alive->load()); };
    ASSERT_TRUE(set_log_sink(sink, LogLevel::kInfo).is_ok());
    ASSERT_TRUE(set_log_sink({}, LogLevel::kInfo).is_ok());
    *alive = false;
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(InQuotes, EscapesAndCuts) {
  EXPECT_EQ(in_quotes("a\"b\n"), "\"a\\\"b\\x0a\"");
  EXPECT_EQ(in_quotes(std::string(300, 'x')).size(), 205U);
}

}  // namespace
}  // namespace sluice
