#include "base/text/number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace sluice {
namespace {

TEST(ToNumber, ReadsWholeText) {
  EXPECT_EQ(to_number<std::int64_t>("-12"), -12);
  EXPECT_EQ(to_number<double>("2.5e1"), 25.0);
  EXPECT_EQ(to_number<unsigned>("fF", 16), 255U);
}

TEST(ToNumber, RefusesOtherTexts) {
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x"}) {
    EXPECT_FALSE(to_number<std::int64_t>(text)) << text;
  }
  EXPECT_FALSE(to_number<unsigned>("-1"));
  EXPECT_FALSE(to_number<unsigned>("fg", 16));
}

TEST(ToNumber, RefusesNumbersWithoutPlace) {
  EXPECT_FALSE(to_number<std::int8_t>("128"));
  EXPECT_FALSE(to_number<double>("1e999"));
}

}  // namespace
}  // namespace sluice
