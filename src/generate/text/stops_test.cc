#include "generate/text/stops.h"

#include <gtest/gtest.h>

namespace sluice::generate {
namespace {

TEST(Stops, ShowsTheTextBeforeASequenceThatComesInPieces) {
  Stops stops({"<end>", ""});
  EXPECT_EQ(stops.push("a <"), "a ");
  EXPECT_EQ(stops.push("e"), "");
  EXPECT_EQ(stops.push("x"), "<ex");
  EXPECT_EQ(stops.push("b<en"), "b");
  EXPECT_FALSE(stops.is_found());
  EXPECT_EQ(stops.push("d> more"), "");
  EXPECT_TRUE(stops.is_found());
  EXPECT_EQ(stops.push("later"), "");
  EXPECT_EQ(stops.flush(), "");
}

TEST(Stops, TakesTheFirstOfSeveral) {
  Stops stops({"cd", "b"});
  EXPECT_EQ(stops.push("abcd"), "a");
  EXPECT_TRUE(stops.is_found());
}

TEST(Stops, GivesWhatItHeldAtTheEnd) {
  Stops stops({"\n\n"});
  EXPECT_EQ(stops.push("line\n"), "line");
  EXPECT_EQ(stops.flush(), "\n");
  EXPECT_FALSE(stops.is_found());
}

TEST(Stops, PassesTextOnWithoutSequences) {
  Stops stops({});
  EXPECT_EQ(stops.push("abc"), "abc");
}

}  // namespace
}  // namespace sluice::generate
