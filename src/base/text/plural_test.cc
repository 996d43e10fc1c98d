#include "base/text/plural.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace sluice {
namespace {

TEST(Plural, OneHasNoEnding) {
  EXPECT_EQ(counted(1, "core"), "1 core");
  EXPECT_EQ(counted(std::size_t{1}, "entry"), "1 entry");
}

TEST(Plural, OtherNumbersHaveTheEndingOfTheNoun) {
  EXPECT_EQ(counted(0, "core"), "0 cores");
  EXPECT_EQ(counted(std::int64_t{-1}, "core"), "-1 cores");
  EXPECT_EQ(counted(2, "whole device"), "2 whole devices");
  EXPECT_EQ(counted(2, "copy"), "2 copies");
  EXPECT_EQ(counted(2, "day"), "2 days");
  EXPECT_EQ(counted(3, "pass"), "3 passes");
  EXPECT_EQ(counted(3, "switch"), "3 switches");
  EXPECT_EQ(counted(3, "box"), "3 boxes");
}

}  // namespace
}  // namespace sluice
