#include "embed/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sluice::embed {
namespace {

using ::testing::ElementsAre;

constexpr Facts kFacts = {.context = 100, .padding = 7, .is_normalized = false};

text::Encoding text_of(std::size_t count) {
  text::Encoding encoding;
  for (std::size_t i = 0; i < count; ++i) encoding.ids.emplace_back(static_cast<std::int32_t>(i));
  encoding.type_ids.assign(count, 1);
  return encoding;
}

TEST(Batches, JoinTextsOfAboutOneLength) {
  std::vector<text::Encoding> texts;
  for (const std::size_t count : {3U, 99U, 16U, 17U, 100U, 1U}) texts.push_back(text_of(count));
  const auto batches = plan_batches(texts, kFacts);
  ASSERT_EQ(batches.size(), 3U);
  EXPECT_THAT(batches[0].texts, ElementsAre(0, 2, 5));
  EXPECT_EQ(batches[0].length, 16);
  EXPECT_THAT(batches[1].texts, ElementsAre(3));
  EXPECT_THAT(batches[2].texts, ElementsAre(1, 4)) << "no longer than the context";
  EXPECT_EQ(batches[2].length, 100);
}

TEST(Batches, HaveABoundAndEachTextOnce) {
  std::vector<text::Encoding> texts;
  for (std::size_t i = 0; i < 500; ++i) texts.push_back(text_of(1 + i % 100));
  std::vector<std::size_t> seen;
  for (const Batch& batch : plan_batches(texts, kFacts)) {
    EXPECT_LE(batch.texts.size(), 32U);
    EXPECT_LE(std::ssize(batch.texts) * batch.length, 4096);
    for (const std::size_t text : batch.texts) {
      EXPECT_LE(std::ssize(texts[text].ids), batch.length);
      seen.push_back(text);
    }
  }
  std::ranges::sort(seen);
  ASSERT_EQ(seen.size(), 500U);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
}

TEST(Batches, FillUpBehindTheTokensOfEachText) {
  const std::vector<text::Encoding> texts = {text_of(2), text_of(3)};
  Rows rows({{1, 0}, 4}, texts, kFacts);
  const auto inputs = rows.inputs({.ids = 2, .mask = 0, .types = 1});
  ASSERT_EQ(inputs.size(), 3U);
  const auto numbers = [&](std::size_t i) {
    EXPECT_THAT(inputs[i].second.dims, ElementsAre(2, 4));
    const auto* first = static_cast<const std::int64_t*>(inputs[i].second.data);
    return std::vector<std::int64_t>(first, first + 8);
  };
  EXPECT_EQ(inputs[0].first, 2U);
  EXPECT_THAT(numbers(0), ElementsAre(0, 1, 2, 7, 0, 1, 7, 7));
  EXPECT_THAT(numbers(1), ElementsAre(1, 1, 1, 0, 1, 1, 0, 0));
  EXPECT_THAT(numbers(2), ElementsAre(1, 1, 1, 0, 1, 1, 0, 0));
}

}  // namespace
}  // namespace sluice::embed
