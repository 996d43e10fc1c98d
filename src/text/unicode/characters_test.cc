#include "text/unicode/characters.h"

#include <gtest/gtest.h>

#include "text/unicode/byte_characters.h"

namespace sluice::text {
namespace {

TEST(Characters, ReplaceTheLongestBrokenStartAtOnce) {
  const std::string r(kReplacement);
  EXPECT_EQ(replace_invalid_utf8("a\xF0\x9F\x98z"), "a" + r + "z");  // three bytes of four
  EXPECT_EQ(replace_invalid_utf8("\xE2\x82"), r);
  EXPECT_EQ(replace_invalid_utf8("\x80\x80"), r + r);
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80"), r + r + r);  // a surrogate
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF"), r + r);          // an overlong form
  EXPECT_EQ(replace_invalid_utf8("é"), "é");
}

TEST(Characters, AreReadInBothDirections) {
  const std::string_view text = "aé€😀";
  std::u32string forward;
  for (std::size_t at = 0; at < text.size();) forward += next_character(text, at);
  EXPECT_EQ(forward, U"aé€😀");
  std::u32string backward;
  for (std::size_t end = text.size(); end > 0;) backward += previous_character(text, end);
  EXPECT_EQ(backward, U"😀€éa");
}

TEST(Characters, HaveUnicodesProperties) {
  EXPECT_TRUE(is_white_space(0x3000));
  EXPECT_FALSE(is_white_space(0x200B));
  EXPECT_TRUE(is_word(0x200D));
  EXPECT_TRUE(is_word(U'ä'));
  EXPECT_FALSE(is_word(U'²'));
  EXPECT_TRUE(is_numeric(U'²'));
  EXPECT_TRUE(is_punctuation(U'$'));
  EXPECT_FALSE(is_punctuation(U'€'));
}

TEST(ByteCharacters, AreTheBytesAgain) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  std::string characters;
  append_byte_characters(characters, bytes);
  EXPECT_TRUE(check_utf8(characters).is_ok());
  std::string back;
  ASSERT_TRUE(append_bytes_of_characters(back, characters));
  EXPECT_EQ(back, bytes);
  EXPECT_FALSE(append_bytes_of_characters(back, "€"));
}

}  // namespace
}  // namespace sluice::text
