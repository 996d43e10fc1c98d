#include "http2/frame_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace sluice::http2 {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::string_view kGreeting = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string frame(int type, int flags, int stream, const std::string& payload) {
  std::string text;
  const std::size_t size = payload.size();
  for (const int shift : {16, 8, 0}) text += static_cast<char>(size >> shift);
  text += static_cast<char>(type);
  text += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) text += static_cast<char>(stream >> shift);
  return text + payload;
}

const std::string kSettingsFrame = frame(4, 0, 0, "");

class FrameRulesTest : public ::testing::Test {
 protected:
  Status take(std::string_view text) {
    return rules_.take(std::as_bytes(std::span(text)), now_ns_);
  }
  void greet() { ASSERT_TRUE(take(std::string(kGreeting) + kSettingsFrame).is_ok()); }
  /// Number of frames that are taken before one is refused, up to `most`.
  int count(const std::string& text, int most) {
    int taken = 0;
    while (taken < most && take(text).is_ok()) ++taken;
    return taken;
  }

  std::int64_t now_ns_ = 5 * kSecondNs;
  FrameRules rules_{FrameLimits{}, now_ns_};
};

TEST_F(FrameRulesTest, CallsAreParsedByteForByte) {
  const std::string all = std::string(kGreeting) + kSettingsFrame + frame(8, 0, 0, "\0\0\1\0") +
                          frame(1, 0, 1, "half") + frame(9, 4, 1, "rest") +
                          frame(0, 1, 1, std::string(20'000, 'x')) + frame(4, 1, 0, "");
  for (const char one : all) {
    ASSERT_TRUE(take(std::string_view(&one, 1)).is_ok());
  }
  EXPECT_TRUE(rules_.has_called());
}

TEST_F(FrameRulesTest, GreetingIsPrefaceAndSettings) {
  EXPECT_EQ(take("GET / HTTP/1.1\r\n").code(), Code::kInvalidArgument);
  rules_ = FrameRules({}, now_ns_);
  EXPECT_TRUE(take(kGreeting).is_ok());
  EXPECT_FALSE(rules_.is_greeted());
  EXPECT_EQ(take(frame(6, 0, 0, "12345678")).code(), Code::kInvalidArgument);
}

TEST_F(FrameRulesTest, HeaderBlockIsBounded) {
  greet();
  ASSERT_TRUE(take(frame(1, 0, 1, "")).is_ok());
  EXPECT_LE(count(frame(9, 0, 1, std::string(16 << 10, 'h')), 100), 4);
  rules_ = FrameRules({}, now_ns_);
  greet();
  ASSERT_TRUE(take(frame(1, 0, 1, "")).is_ok());
  EXPECT_LE(count(frame(9, 0, 1, ""), 100), 16) << "empty ones count";
}

TEST_F(FrameRulesTest, NothingComesBetweenTheFramesOfAHeaderBlock) {
  for (const std::string& other :
       {frame(6, 0, 0, "12345678"), frame(9, 4, 3, ""), kSettingsFrame}) {
    rules_ = FrameRules({}, now_ns_);
    greet();
    ASSERT_TRUE(take(frame(1, 0, 1, "h")).is_ok());
    EXPECT_EQ(take(other).code(), Code::kInvalidArgument);
  }
}

TEST_F(FrameRulesTest, ContinuationNeedsHeaders) {
  greet();
  EXPECT_EQ(take(frame(9, 4, 1, "")).code(), Code::kInvalidArgument);
}

TEST_F(FrameRulesTest, FramesThatDoNothingHaveARate) {
  const FrameLimits limits;
  for (const std::string& one :
       {frame(6, 0, 0, "12345678"), kSettingsFrame, frame(2, 0, 1, "12345"), frame(0, 0, 1, ""),
        frame(0, 8, 1, "\1x"), frame(77, 0, 0, "")}) {
    rules_ = FrameRules({}, now_ns_);
    greet();
    EXPECT_LE(count(one, 100'000), limits.control.burst);
    now_ns_ += 2 * kSecondNs;
    EXPECT_EQ(count(one, 100'000), 2 * limits.control.per_second);
  }
}

TEST_F(FrameRulesTest, ResetsHaveARate) {
  greet();
  const std::string call_and_reset = frame(1, 5, 1, "h") + frame(3, 0, 1, "1234");
  EXPECT_LE(count(call_and_reset, 100'000), FrameLimits{}.resets.burst);
}

TEST_F(FrameRulesTest, FramesAreBoundedUnlessFlowControlDoesIt) {
  greet();
  EXPECT_TRUE(take(frame(0, 0, 1, std::string(1 << 20, 'x'))).is_ok());
  EXPECT_EQ(take(frame(7, 0, 0, std::string(17 << 10, 'x'))).code(), Code::kResourceExhausted);
}

TEST_F(FrameRulesTest, TimeIsBounded) {
  const FrameLimits limits;
  const std::int64_t opened = now_ns_;
  EXPECT_TRUE(rules_.check_time(opened + limits.greeting_ns).is_ok());
  EXPECT_EQ(rules_.check_time(opened + limits.greeting_ns + 1).code(), Code::kDeadlineExceeded);
  greet();
  EXPECT_TRUE(rules_.check_time(opened + limits.first_call_ns).is_ok());
  EXPECT_EQ(rules_.check_time(opened + limits.first_call_ns + 1).code(), Code::kDeadlineExceeded);
  ASSERT_TRUE(take(frame(1, 4, 1, "h")).is_ok());
  EXPECT_TRUE(rules_.check_time(opened + 1000 * kSecondNs).is_ok()) << "it may wait between calls";
  ASSERT_TRUE(take(frame(1, 0, 3, "h")).is_ok());
  EXPECT_EQ(rules_.check_time(now_ns_ + limits.header_block_ns + 1).code(),
            Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace sluice::http2
