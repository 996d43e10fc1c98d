#include "backend/texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sluice::backend {
namespace {

using ::testing::ElementsAre;

sluice_text text(const std::string& value) {
  return {value.data(), static_cast<std::int64_t>(value.size())};
}

ir::Constant encode(const std::vector<sluice_text>& texts) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(*encoded_bytes(texts)));
  encode_texts(texts, bytes);
  const auto count = static_cast<std::int64_t>(texts.size());
  return {ir::Type::tensor(ir::ElementType::kString, ir::Shape{count}),
          Bytes::own(std::move(bytes))};
}

TEST(Texts, EncodingRoundTrips) {
  const std::vector<std::string> words = {"one", "", "three"};
  const ir::Constant constant = encode({text(words[0]), {}, text(words[2])});
  EXPECT_EQ(constant.data.size(), 4 * 8 + 8);
  const auto decoded = decode_texts(constant);
  ASSERT_TRUE(decoded.is_ok()) << decoded.status().to_string();
  std::vector<std::string> got;
  for (const sluice_text& element : *decoded) {
    got.emplace_back(element.data, static_cast<std::size_t>(element.size_bytes));
  }
  EXPECT_THAT(got, ElementsAre("one", "", "three"));
}

TEST(Texts, OffsetsOutsideTheDataAreRefused) {
  const std::string word = "word";
  ir::Constant constant = encode({text(word)});
  EXPECT_FALSE(decode_texts({constant.type, constant.data.slice(0, 12)}).is_ok());
  EXPECT_FALSE(decode_texts({constant.type, constant.data.slice(0, 18)}).is_ok());
  EXPECT_TRUE(decode_texts({constant.type, constant.data.slice(0, 20)}).is_ok());
}

TEST(TextPool, PiecesDoNotOverlapAndLiveUntilTheReset) {
  TextPool pool(std::make_shared<ByteBudget>(1 << 22));
  sluice_text_pool* handle = pool.get();
  std::vector<char*> pieces;
  for (int i = 0; i < 3000; ++i) {
    char* piece = handle->allocate(handle, 100);
    ASSERT_NE(piece, nullptr);
    std::fill_n(piece, 100, static_cast<char>(i));
    pieces.push_back(piece);
  }
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(pieces[static_cast<std::size_t>(i)][99], static_cast<char>(i));
  }
  pool.reset();
  EXPECT_EQ(handle->allocate(handle, 100), pieces[0]) << "the first block serves again";
  EXPECT_NE(handle->allocate(handle, std::int64_t{1} << 20), nullptr);
}

TEST(TextPool, ChargesItsBudgetForEachBlockUntilTheReset) {
  const auto budget = std::make_shared<ByteBudget>(1 << 20);
  {
    TextPool pool(budget);
    EXPECT_EQ(budget->held_bytes(), 0) << "nothing without texts";
    EXPECT_NE(pool.allocate(10), nullptr);
    const std::int64_t block_bytes = budget->held_bytes();
    EXPECT_NE(pool.allocate(10), nullptr);
    EXPECT_EQ(budget->held_bytes(), block_bytes) << "in the same block";
    EXPECT_NE(pool.allocate(500'000), nullptr);
    EXPECT_EQ(budget->held_bytes(), block_bytes + 500'000);
    EXPECT_EQ(pool.allocate(500'000), nullptr);
    EXPECT_EQ(budget->held_bytes(), block_bytes + 500'000) << "of a text that is refused, nothing";
    pool.reset();
    EXPECT_EQ(budget->held_bytes(), block_bytes) << "of the block that the next run gets";
    EXPECT_NE(pool.allocate(500'000), nullptr);
  }
  EXPECT_EQ(budget->held_bytes(), 0);
}

}  // namespace
}  // namespace sluice::backend
