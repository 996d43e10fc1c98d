#include "options/nearest.h"

#include <gtest/gtest.h>

namespace sluice::options {
namespace {

const std::vector<std::string> kWords = {"compile", "run", "bench", "ls", "load"};

TEST(FindNearest, FindsWordWithMissingLetter) {
  EXPECT_EQ(find_nearest("comple", kWords), "compile");
}

TEST(FindNearest, CountsSwappedLettersAsOneEdit) { EXPECT_EQ(find_nearest("rnu", kWords), "run"); }

TEST(FindNearest, ReturnsNothingForUnrelatedWord) {
  EXPECT_EQ(find_nearest("frobnicate", kWords), std::nullopt);
  EXPECT_EQ(find_nearest("xyz", kWords), std::nullopt);
}

TEST(FindNearest, ReturnsNothingForOverlongWord) {
  EXPECT_EQ(find_nearest(std::string(1000, 'c'), kWords), std::nullopt);
}

}  // namespace
}  // namespace sluice::options
