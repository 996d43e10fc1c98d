#include "generate/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace sluice::generate {
namespace {

using ::testing::ElementsAre;
using Longs = std::vector<std::int64_t>;

constexpr Ports kPorts = {.ids = 0, .positions = 1, .sequences = 2, .tables = 3, .last = 4};

std::shared_ptr<PagePool> pool_of(std::int64_t pages) {
  const ir::Type type = ir::parse_type("f32[P,1,4,1]").value();
  terms::Signature signature;
  signature.inputs = {{"state.k", type}};
  signature.outputs = {{"state.k.next", type}};
  return PagePool::create(signature, pages).value();
}

struct Made {
  std::map<std::size_t, Longs> numbers;
  std::map<std::size_t, Longs> dims;
};

Made inputs_of(Batch& batch) {
  Made made;
  for (const auto& [input, view] : batch.inputs()) {
    const auto* first = static_cast<const std::int64_t*>(view.data);
    made.numbers[input] = Longs(first, first + view.size_bytes / 8);
    made.dims[input] = view.dims;
  }
  return made;
}

TEST(Batch, PutsPiecesOfSequencesSideBySide) {
  const auto pool = pool_of(8);
  Pages first(pool), second(pool);
  ASSERT_TRUE(first.reserve(6).is_ok());
  ASSERT_TRUE(second.reserve(2).is_ok());
  Longs ids = {7}, positions = {5}, prompt = {8, 9}, begin = {0, 1};
  Batch batch(kPorts, 10);
  batch.add({ids, positions, 6}, first);
  batch.add({prompt, begin, 2}, second);
  const Made made = inputs_of(batch);
  EXPECT_THAT(made.numbers.at(0), ElementsAre(7, 8, 9));
  EXPECT_THAT(made.numbers.at(1), ElementsAre(5, 0, 1));
  EXPECT_THAT(made.numbers.at(2), ElementsAre(0, 1, 1));
  EXPECT_THAT(made.numbers.at(3),
              ElementsAre(*first.pages()[0], *first.pages()[1], 0, *second.pages()[0], 0, 0));
  EXPECT_THAT(made.dims.at(3), ElementsAre(2, 3));
  EXPECT_THAT(made.numbers.at(4), ElementsAre(0, 2));
}

TEST(Batch, NamesTheAdapterOfEachSequence) {
  const auto pool = pool_of(8);
  Pages pages(pool);
  ASSERT_TRUE(pages.reserve(1).is_ok());
  Ports ports = kPorts;
  ports.adapters = 5;
  Batch batch(ports, 10);
  for (int round = 0; round < 2; ++round) {
    batch.clear();
    for (const std::int64_t adapter : {1, -1, 0, 2, 1}) {
      Longs id = {3}, position = {0};
      batch.add({id, position, 1, adapter}, pages);
    }
    EXPECT_THAT(inputs_of(batch).numbers.at(5), ElementsAre(1, -1, 0, 2, 1, 1));
  }
}

TEST(Batch, FillsUpWithItsLastRow) {
  const auto pool = pool_of(8);
  Pages pages(pool);
  ASSERT_TRUE(pages.reserve(5).is_ok());
  Batch batch(kPorts, 10);
  for (int round = 0; round < 2; ++round) {
    batch.clear();
    for (std::int64_t i = 0; i < 5; ++i) {
      Longs id = {i}, position = {i};
      batch.add({id, position, i + 1}, pages);
    }
    const Made made = inputs_of(batch);
    EXPECT_THAT(made.numbers.at(0), ElementsAre(0, 1, 2, 3, 4, 4));
    EXPECT_THAT(made.numbers.at(1), ElementsAre(0, 1, 2, 3, 4, 4));
    EXPECT_THAT(made.numbers.at(2), ElementsAre(0, 1, 2, 3, 4, 4));
    EXPECT_THAT(made.dims.at(3), ElementsAre(6, 3));
    EXPECT_THAT(made.numbers.at(4), ElementsAre(0, 1, 2, 3, 4, 4));
  }
}

TEST(Batch, MeetsFewNumbersOfRows) {
  std::int64_t kinds = 0;
  for (std::int64_t i = 1, former = 0; i <= 512; ++i) {
    const std::int64_t rows = rounded_rows(i);
    EXPECT_GE(rows, i);
    EXPECT_LE(rows - i, i / 4 + 1) << i;
    EXPECT_EQ(rounded_rows(rows), rows);
    kinds += rows != former ? 1 : 0;
    former = rows;
  }
  EXPECT_LE(kinds, 40);
}

}  // namespace
}  // namespace sluice::generate
