#include "repository/config/labels.h"

#include <gmock/gmock.h>

namespace sluice::repository {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Labels, AreTheLinesOfTheFile) {
  EXPECT_THAT(*parse_labels("tabby cat\r\n\nR\xc3\xb6hre\n"),
              ElementsAre("tabby cat", "", "R\xc3\xb6hre"));
  EXPECT_THAT(*parse_labels("a\nb"), ElementsAre("a", "b"));
  EXPECT_THAT(*parse_labels(""), ElementsAre());
  EXPECT_THAT(*parse_labels("\xEF\xBB\xBF"
                            "a\nb"),
              ElementsAre("a", "b"));
}

TEST(Labels, RefuseWhatNoAnswerCanCarry) {
  EXPECT_THAT(parse_labels("a\n\xff\n").status().message(), HasSubstr("line 2"));
  EXPECT_THAT(parse_labels(std::string(257, 'a')).status().message(), HasSubstr("line 1"));
  EXPECT_THAT(parse_labels(std::string((1 << 18) + 1, '\n')).status().message(),
              HasSubstr("labels"));
}

}  // namespace
}  // namespace sluice::repository
