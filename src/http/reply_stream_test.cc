#include "http/reply_stream.h"

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

TEST(ReplyStream, WakesTheConnectionOnceForWhatComes) {
  ReplyStream stream(nullptr);
  int num_woken = 0;
  stream.wait([&] { ++num_woken; });
  EXPECT_EQ(num_woken, 0);
  EXPECT_TRUE(stream.push("a"));
  EXPECT_TRUE(stream.push("b"));
  EXPECT_EQ(num_woken, 1);
  EXPECT_EQ(stream.take(), "ab");
  EXPECT_EQ(stream.take(), "");
  EXPECT_FALSE(stream.is_over());
  stream.push("c");
  stream.end();
  EXPECT_FALSE(stream.is_over()) << "c waits";
  stream.wait([&] { ++num_woken; });
  EXPECT_EQ(num_woken, 2);
  EXPECT_EQ(stream.take(), "c");
  EXPECT_TRUE(stream.is_over());
}

TEST(ReplyStream, ResumesOnceTheClientHasRead) {
  int num_resumed = 0;
  ReplyStream stream([&] { ++num_resumed; });
  EXPECT_TRUE(stream.push(std::string(ReplyStream::kMostWaiting - 1, 'x')));
  EXPECT_FALSE(stream.push("x"));
  EXPECT_EQ(num_resumed, 0);
  EXPECT_EQ(stream.take().size(), ReplyStream::kMostWaiting);
  EXPECT_EQ(num_resumed, 1);
  EXPECT_TRUE(stream.push("x"));
  stream.take();
  EXPECT_EQ(num_resumed, 1);
}

TEST(ReplyStream, HoldsNothingOfWhoeverAnswersAfterTheEnd) {
  const auto held = std::make_shared<int>(1);
  ReplyStream stream([held] {});
  stream.push(std::string(ReplyStream::kMostWaiting, 'x'));
  stream.end();
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(stream.take().size(), ReplyStream::kMostWaiting);
}

}  // namespace
}  // namespace sluice::http
