#include "http/account_threads.h"

#include <gtest/gtest.h>

#include <latch>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::http {
namespace {

constexpr std::size_t kMostWaiting = 64;

class AccountThreadsTest : public ::testing::Test {
 protected:
  ~AccountThreadsTest() override { end(); }

  /// Keeps the only thread busy until `release_` is counted down.
  void hold_thread() {
    ASSERT_TRUE(threads_
                    ->run("token holder",
                          [this] {
                            started_.count_down();
                            release_.wait();
                          })
                    .is_ok());
    started_.wait();
  }
  Status note(const std::string& account, const std::string& what) {
    return threads_->run(account, [this, what] { done_.push_back(what); });
  }
  /// Returns when all work is done and the thread has ended.
  void end() {
    if (!threads_.has_value()) return;
    release_.count_down();
    threads_.reset();
  }

  std::vector<std::string> done_;  ///< written by the only thread
  std::latch started_{1};
  std::latch release_{1};
  service::NoLog log_;
  std::optional<AccountThreads> threads_{std::in_place, 1, kMostWaiting, log_};
};

TEST_F(AccountThreadsTest, AccountsTakeTurns) {
  hold_thread();
  for (const char* what : {"a1", "a2"}) ASSERT_TRUE(note("token a", what).is_ok());
  ASSERT_TRUE(note("token b", "b1").is_ok());
  ASSERT_TRUE(note("token b", "b2").is_ok());
  end();
  EXPECT_EQ(done_, (std::vector<std::string>{"a1", "b1", "a2", "b2"}));
}

TEST_F(AccountThreadsTest, FullLineOfOneAccountLeavesRoomForOthers) {
  hold_thread();
  for (std::size_t i = 0; i < kMostWaiting; ++i) {
    ASSERT_TRUE(note("token a", "a").is_ok());
  }
  EXPECT_EQ(note("token a", "one too many").code(), Code::kUnavailable);
  EXPECT_TRUE(note("token b", "b").is_ok());
  end();
  ASSERT_GE(done_.size(), 2U);
  EXPECT_EQ(done_[1], "b");
}

TEST_F(AccountThreadsTest, WorkThatThrowsEndsAlone) {
  ASSERT_TRUE(threads_->run("token a", [] { throw std::bad_alloc(); }).is_ok());
  ASSERT_TRUE(note("token a", "next").is_ok());
  end();
  EXPECT_EQ(done_, std::vector<std::string>{"next"});
}

}  // namespace
}  // namespace sluice::http
