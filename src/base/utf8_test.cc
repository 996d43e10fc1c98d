#include "base/utf8.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ValidUtf8, KeepsValidText) {
  for (const char* text : {"", "plain", "gr\xC3\xBC\xC3\x9F", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}) {
    EXPECT_EQ(valid_utf8(text), text);
  }
}

TEST(ValidUtf8, ReplacesInvalidBytes) {
  EXPECT_EQ(valid_utf8("a\xFFz"), "a?z");
  EXPECT_EQ(valid_utf8("\xC3"), "?") << "cut";
  EXPECT_EQ(valid_utf8("\xE2\x82"), "??") << "cut";
  EXPECT_EQ(valid_utf8("\xC0\x80"), "??") << "longer than need be";
  EXPECT_EQ(valid_utf8("\xE0\x80\x80"), "???") << "longer than need be";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), "???") << "half of a pair";
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), "????") << "past the last character";
  EXPECT_EQ(valid_utf8("\x80"
                       "a"),
            "?a");
}

TEST(Words, DifferInMoreThanTheirCase) {
  EXPECT_TRUE(is_same_word("gZip", "GzIP"));
  EXPECT_FALSE(is_same_word("gzip", "gzip2"));
  EXPECT_EQ(trimmed(" \t a b\t"), "a b");
  EXPECT_EQ(trimmed(" \t"), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Names, ArePrintableAndShort) {
  for (const std::string& good : {std::string(), std::string("resnet 50"), std::string("größe"),
                                  std::string(kMaxNameBytes, 'a')}) {
    EXPECT_TRUE(check_name(good, "model").is_ok()) << good;
  }
  for (const std::string& bad :
       {std::string(kMaxNameBytes + 1, 'a'), std::string("a\nb"), std::string("a\x1B[31m"),
        std::string("a\0b", 3), std::string("\x7F"), std::string("\xFF"), std::string("\xC3")}) {
    EXPECT_EQ(check_name(bad, "model").code(), Code::kInvalidArgument) << bad;
  }
}

TEST(ByteOrderMark, IsLeftOutAtTheStartAlone) {
  EXPECT_EQ(without_mark("\xEF\xBB\xBF"
                         "a"),
            "a");
  EXPECT_EQ(without_mark("\xEF\xBB\xBF"), "");
  EXPECT_EQ(without_mark("a\xEF\xBB\xBF"), "a\xEF\xBB\xBF");
  EXPECT_EQ(without_mark("\xEF\xBB"), "\xEF\xBB");
  EXPECT_EQ(without_mark(""), "");
}

}  // namespace
}  // namespace sluice
