#include "sluice/model/preprocessing_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::tool {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PreprocessingFacts, FillWhatTheCommandLineLeavesOpen) {
  Facts facts;
  record_preprocessing({.means = {0.485F, 0.456F, 0.406F}, .deviations = {0.25F}, .resize = 256},
                       facts);
  EXPECT_EQ(facts["image.mean"], "0.485,0.456,0.406");
  Preprocessing open;
  ASSERT_TRUE(fill_preprocessing(facts, open).is_ok());
  EXPECT_THAT(open.means, ElementsAre(0.485F, 0.456F, 0.406F));
  EXPECT_THAT(open.deviations, ElementsAre(0.25F));
  EXPECT_EQ(open.resize, 256);
  Preprocessing given = {.means = {0.5F}, .deviations = {}, .resize = 64};
  ASSERT_TRUE(fill_preprocessing(facts, given).is_ok());
  EXPECT_THAT(given.means, ElementsAre(0.5F));
  EXPECT_THAT(given.deviations, ElementsAre(0.25F));
  EXPECT_EQ(given.resize, 64);
}

TEST(PreprocessingFacts, PackagesWithoutThemChangeNothing) {
  Preprocessing open;
  ASSERT_TRUE(fill_preprocessing({}, open).is_ok());
  EXPECT_THAT(open.means, IsEmpty());
  EXPECT_EQ(open.resize, 0);
}

TEST(PreprocessingFacts, DamagedOnesAreRefusedByName) {
  for (const std::string text : {"x", "1,", "1;2", "nan", "1e999"}) {
    Preprocessing open;
    const Status status = fill_preprocessing({{"image.mean", text}}, open);
    EXPECT_EQ(status.code(), Code::kDataLoss) << text;
    EXPECT_THAT(status.message(), HasSubstr("image.mean"));
  }
  Preprocessing open;
  EXPECT_EQ(fill_preprocessing({{"image.resize", "0"}}, open).code(), Code::kDataLoss);
  EXPECT_EQ(fill_preprocessing({{"image.resize", "99999"}}, open).code(), Code::kDataLoss);
  EXPECT_EQ(fill_preprocessing({{"image.resize", "2,3"}}, open).code(), Code::kDataLoss);
}

}  // namespace
}  // namespace sluice::tool
