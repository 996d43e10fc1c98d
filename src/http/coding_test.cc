// Bodies in gzip and deflate: what comes out again, and what is no coding or too much.
#include "http/coding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::http {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kLimit = 1 << 20;

Body body_of(std::int64_t limit = kLimit, std::int64_t budget = 8 * kLimit) {
  return {std::make_shared<ByteBudget>(budget), -1, limit};
}

std::string coded(std::string_view text, Coding coding = Coding::kGzip) {
  const std::vector<std::string_view> parts = {text};
  return encode(parts, coding).value();
}

Status decoded(std::string_view bytes, Coding coding, std::int64_t limit = kLimit) {
  Body body = body_of(limit);
  return decode(bytes, coding, body);
}

/// Bytes that do not repeat.
std::string noise(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : text) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return text;
}

class CodingTest : public ::testing::TestWithParam<Coding> {};

TEST_P(CodingTest, BytesComeOutAsTheyWentIn) {
  for (const std::size_t size : {0, 1, 1000, 65536, 200'000}) {
    for (const std::string& text : {noise(size), std::string(size, 'a')}) {
      const std::vector<std::string_view> parts = {std::string_view(text).substr(0, size / 3), "",
                                                   std::string_view(text).substr(size / 3)};
      Body body = body_of();
      ASSERT_TRUE(decode(encode(parts, GetParam()).value(), GetParam(), body).is_ok()) << size;
      EXPECT_EQ(body.bytes(), text) << size;
    }
  }
}

TEST_P(CodingTest, BodyOfTheLimitIsTakenAndOneByteMoreIsNot) {
  const std::string text(100'000, 'a');
  EXPECT_TRUE(decoded(coded(text, GetParam()), GetParam(), 100'000).is_ok());
  const Status status = decoded(coded(text, GetParam()), GetParam(), 99'999);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("more than 99999 bytes"));
}

TEST_P(CodingTest, BombTakesNoMoreThanTheLimitOfTheBudget) {
  const std::string bomb = coded(std::string(64 << 20, '\0'), GetParam());
  ASSERT_LT(bomb.size(), 300'000U);
  const auto budget = std::make_shared<ByteBudget>(4 * kLimit);
  Body body(budget, -1, kLimit);
  EXPECT_EQ(decode(bomb, GetParam(), body).code(), Code::kInvalidArgument);
  EXPECT_LE(budget->held_bytes(), 2 * kLimit);
  Body poor = body_of(kLimit, kLimit / 4);
  EXPECT_EQ(decode(bomb, GetParam(), poor).code(), Code::kResourceExhausted);
}

TEST_P(CodingTest, CutAndDamagedBytesAreRefused) {
  const std::string whole = coded(noise(3000), GetParam());
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    EXPECT_EQ(decoded(whole.substr(0, size), GetParam()).code(), Code::kDataLoss) << size;
  }
  std::string damaged = whole;
  damaged[damaged.size() - 2] ^= 1;  // of the checksum, or of the length
  EXPECT_THAT(decoded(damaged, GetParam()).message(), HasSubstr("the body is no "));
  EXPECT_THAT(decoded(whole + "x", GetParam()).message(), HasSubstr("1 bytes follow the end"));
  EXPECT_FALSE(decoded("{}", GetParam()).is_ok());
}

INSTANTIATE_TEST_SUITE_P(Both, CodingTest, ::testing::Values(Coding::kGzip, Coding::kDeflate),
                         [](const auto& one) { return std::string(coding_name(one.param)); });

TEST(Coding, OneIsNotTheOther) {
  EXPECT_EQ(decoded(coded("abc", Coding::kGzip), Coding::kDeflate).code(), Code::kDataLoss);
  EXPECT_EQ(decoded(coded("abc", Coding::kDeflate), Coding::kGzip).code(), Code::kDataLoss);
}

TEST(Coding, NamesAreThoseOfHttp) {
  EXPECT_EQ(find_coding("gzip"), Coding::kGzip);
  EXPECT_EQ(find_coding(" X-GZip "), Coding::kGzip);
  EXPECT_EQ(find_coding("Deflate"), Coding::kDeflate);
  EXPECT_EQ(find_coding("identity"), Coding::kIdentity);
  for (const char* none : {"", "br", "gzip, gzip", "gzip;q=1", "zstd", "compress"}) {
    EXPECT_EQ(find_coding(none), std::nullopt) << none;
  }
}

TEST(Coding, ClientsChooseThatOfTheReply) {
  EXPECT_EQ(choose_coding("gzip"), Coding::kGzip);
  EXPECT_EQ(choose_coding("deflate"), Coding::kDeflate);
  EXPECT_EQ(choose_coding("br, deflate;q=0.5 , gzip;q=0.1"), Coding::kGzip);
  EXPECT_EQ(choose_coding("gzip;q=0, deflate; q=1"), Coding::kDeflate);
  for (const char* none :
       {"", "br", "identity", "*", "gzip;q=0", "gzip; q=0.000", ",,;", "gzipp"}) {
    EXPECT_EQ(choose_coding(none), Coding::kIdentity) << none;
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Ends the process with 0 if the coding fails as it should under all limits of memory that are too
/// low for it.
[[noreturn]] void encode_with_little_memory(const std::vector<std::string_view>& parts) {
  constexpr rlim_t kStep = rlim_t{4} << 20;
  constexpr rlim_t kMost = rlim_t{4} << 30;
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  for (rlim_t most = kStep; most < kMost; most += kStep) {
    limit.rlim_cur = most;
    if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(3);
    const auto coded = encode(parts, Coding::kGzip);
    if (coded.is_ok()) std::_Exit(most > kStep ? 0 : 4);
    if (coded.status().code() != Code::kResourceExhausted) std::_Exit(5);
  }
  std::_Exit(6);
}

TEST(CodingDeathTest, LackOfMemoryIsAnError) {
  const std::string text = noise(std::size_t{8} << 20);
  const std::vector<std::string_view> parts = {text};
  EXPECT_EXIT(encode_with_little_memory(parts), ::testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace sluice::http
