#include "open_inference/texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sluice::open_inference {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;

TEST(Texts, ComeBackAsTheyWere) {
  const std::vector<std::string_view> texts = {"", "a", "with\0zero", "\xc3\xa4\xff"};
  const std::string bytes = write_texts(texts);
  const auto read = read_texts(bytes, 4);
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_EQ(*read, texts);
  EXPECT_EQ(bytes.size(), 4 * 4 + 0 + 1 + texts[2].size() + 3);
}

TEST(Texts, NoneTakeNoBytes) {
  EXPECT_EQ(write_texts({}), "");
  EXPECT_TRUE(read_texts("", 0)->empty());
}

TEST(Texts, BytesThatDoNotFitAreRefused) {
  const std::string two = "\x01\0\0\0a\x02\0\0\0bc"s;
  EXPECT_THAT(*read_texts(two, 2), ElementsAre("a", "bc"));
  struct Case {
    std::string bytes;
    std::int64_t count;
    std::string_view why;
  };
  const std::vector<Case> cases = {
      {two, 1, "2 strings came, the shape has 1"},
      {two, 3, "at least 4 bytes each"},
      {two.substr(0, two.size() - 1), 2, "string 1 ends behind"},
      {"\x01\0\0\0a\x02\0"s, 1, "string 1 ends behind"},
      {"\xff\xff\xff\xff"s + "abcd", 2, "string 0 ends behind"},
      {"", 1, "at least 4 bytes each"},
      {"", -1, "at least 4 bytes each"},
      {"", std::int64_t{1} << 62, "at least 4 bytes each"},
  };
  for (const Case& bad : cases) {
    const auto read = read_texts(bad.bytes, bad.count);
    ASSERT_FALSE(read.is_ok()) << bad.why;
    EXPECT_THAT(read.status().message(), HasSubstr(bad.why));
  }
}

}  // namespace
}  // namespace sluice::open_inference
