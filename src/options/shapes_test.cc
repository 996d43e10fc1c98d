#include "options/shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::options {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string refusal(const std::vector<std::string>& shapes) {
  return std::string(parse_shapes(shapes).status().message());
}

TEST(Shapes, ReadsDimensionsByName) {
  const auto shapes = parse_shapes({"x=1,3,224,224", "N=4", "a=b=2", "scalar="}).value();
  EXPECT_THAT(shapes.at("x"), ElementsAre(1, 3, 224, 224));
  EXPECT_THAT(shapes.at("N"), ElementsAre(4));
  EXPECT_THAT(shapes.at("a=b"), ElementsAre(2));
  EXPECT_THAT(shapes.at("scalar"), IsEmpty());
}

TEST(Shapes, RefuseWhatIsNoListOfDimensions) {
  for (const char* text : {"x=1,3,", "x=,1", "x=1,,2", "x=-1", "x=1.5", "x=99999999999999999999"}) {
    EXPECT_THAT(refusal({text}), HasSubstr("is no list of dimensions")) << text;
  }
  EXPECT_THAT(refusal({"1,3"}), HasSubstr("write it as name="));
}

TEST(Shapes, RefuseANameThatComesTwice) {
  EXPECT_THAT(refusal({"N=3", "x=1,2", "N=2"}), HasSubstr("\"N\" has a shape already"));
}

}  // namespace
}  // namespace sluice::options
