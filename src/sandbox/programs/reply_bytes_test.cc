#include "sandbox/programs/reply_bytes.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::sandbox {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string behind_length(std::uint64_t length, const std::string& text) {
  const LengthBytes bytes = length_bytes(length);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) + text;
}

TEST(ReplyBytesTest, CompletesAtItsLengthHoweverItsBytesCome) {
  const std::string all = behind_length(5, "words");
  for (std::size_t piece = 1; piece <= all.size(); ++piece) {
    ReplyBytes reply(/*has_length=*/true);
    for (std::size_t at = 0; at < all.size(); at += piece) {
      EXPECT_FALSE(reply.is_complete());
      EXPECT_TRUE(reply.take(bytes_of(all.substr(at, piece))).is_ok());
    }
    EXPECT_TRUE(reply.is_complete());
    EXPECT_EQ(reply.bytes().size(), 5U);
  }
}

TEST(ReplyBytesTest, EmptyReplyIsCompleteBehindItsLength) {
  ReplyBytes reply(/*has_length=*/true);
  EXPECT_TRUE(reply.take(bytes_of(behind_length(0, ""))).is_ok());
  EXPECT_TRUE(reply.is_complete());
}

TEST(ReplyBytesTest, LengthsThatAreWrongAreRefused) {
  ReplyBytes long_one(/*has_length=*/true);
  EXPECT_EQ(long_one.take(bytes_of(behind_length(UINT64_MAX, ""))).code(),
            Code::kResourceExhausted);
  ReplyBytes short_one(/*has_length=*/true);
  EXPECT_EQ(short_one.take(bytes_of(behind_length(2, "abc"))).code(), Code::kInternal);
}

TEST(ReplyBytesTest, WithoutALengthItGoesOn) {
  ReplyBytes reply(/*has_length=*/false);
  EXPECT_TRUE(reply.take(bytes_of(behind_length(2, "abc"))).is_ok());
  EXPECT_FALSE(reply.is_complete());
  EXPECT_EQ(reply.bytes().size(), 11U);
}

}  // namespace
}  // namespace sluice::sandbox
