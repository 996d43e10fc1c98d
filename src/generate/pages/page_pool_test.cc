#include "generate/pages/page_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace sluice::generate {
namespace {

using ::testing::HasSubstr;

terms::TensorSpec spec(const std::string& name, const std::string& type) {
  return {name, ir::parse_type(type).value()};
}

/// Two states; a page has 4 places and 2 * 3 * 4 * 5 * 4 bytes.
terms::Signature pool_signature() {
  terms::Signature made;
  made.inputs = {spec("ids", "i64[S]"), spec("state.k", "f32[P,3,4,5]"),
                 spec("state.v", "f32[P,3,4,5]")};
  made.outputs = {spec("logits", "f32[N,7]"), spec("state.v.next", "f32[P,3,4,5]"),
                  spec("state.k.next", "f32[P,3,4,5]")};
  return made;
}
constexpr std::int64_t kPageBytes = 480;

TEST(PagePool, BindsEachStateToItsNextValue) {
  const auto pool = PagePool::create(pool_signature(), 6).value();
  const auto bindings = pool->bindings();
  ASSERT_EQ(bindings.size(), 2U);
  EXPECT_EQ(bindings[0].input, 1U);
  EXPECT_EQ(bindings[0].output, 2U);
  EXPECT_EQ(bindings[1].output, 1U);
  EXPECT_EQ(bindings[1].view.dims, (std::vector<std::int64_t>{6, 3, 4, 5}));
  EXPECT_EQ(bindings[1].view.size_bytes, 6 * kPageBytes / 2);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bindings[0].view.data) % 64, 0U);
  std::memset(bindings[0].view.data, 1, static_cast<std::size_t>(bindings[0].view.size_bytes));
}

TEST(PagePool, CountsTheBytesOfItsNumbers) {
  terms::Signature halves = pool_signature();
  for (auto* specs : {&halves.inputs, &halves.outputs}) {
    for (terms::TensorSpec& one : *specs) {
      if (one.name.starts_with("state.")) one.type = ir::parse_type("f16[P,3,4,5]").value();
    }
  }
  const auto budget = std::make_shared<ByteBudget>(kPageBytes);
  const auto pool = PagePool::create(halves, 6, budget).value();
  EXPECT_EQ(PagePool::page_size(halves)->bytes, kPageBytes / 2);
  Pages pages(pool);
  EXPECT_TRUE(pages.reserve(8).is_ok());
  EXPECT_EQ(budget->held_bytes(), kPageBytes) << "two pages where one of f32 finds place";
  EXPECT_EQ(pages.reserve(12).code(), Code::kResourceExhausted);
}

TEST(PagePool, GivesEachPageOnceAndTakesItBack) {
  const auto pool = PagePool::create(pool_signature(), 3).value();
  Pages first(pool);
  ASSERT_TRUE(first.reserve(5).is_ok());
  ASSERT_TRUE(first.reserve(8).is_ok());
  EXPECT_EQ(first.pages().size(), 2U);
  Pages second(pool);
  const Status status = second.reserve(5);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("all 3 pages"));
  ASSERT_EQ(second.pages().size(), 1U);
  EXPECT_NE(*second.pages()[0], *first.pages()[0]);
  EXPECT_NE(*second.pages()[0], *first.pages()[1]);
  first = Pages(pool);
  EXPECT_TRUE(second.reserve(12).is_ok());
  EXPECT_EQ(pool->size_bytes(), 3 * kPageBytes);
}

TEST(PagePool, KeepsPagesThatSomebodyShares) {
  const auto pool = PagePool::create(pool_signature(), 1).value();
  PagePool::Page shared;
  {
    Pages pages(pool);
    ASSERT_TRUE(pages.reserve(1).is_ok());
    shared = pages.pages()[0];
  }
  EXPECT_FALSE(pool->take().is_ok());
  shared = nullptr;
  EXPECT_TRUE(pool->take().is_ok());
}

TEST(PagePool, CountsPagesWhileSomebodyHasThem) {
  const auto budget = std::make_shared<ByteBudget>(2 * kPageBytes);
  {
    const auto pool = PagePool::create(pool_signature(), 9, budget).value();
    EXPECT_EQ(budget->held_bytes(), 0);
    {
      Pages pages(pool);
      ASSERT_TRUE(pages.reserve(8).is_ok());
      EXPECT_EQ(pages.reserve(9).code(), Code::kResourceExhausted);
    }
    EXPECT_EQ(budget->held_bytes(), 0) << "another model's pool may have them";
    EXPECT_EQ(pool->size_bytes(), 0);
    const auto other = PagePool::create(pool_signature(), 9, budget).value();
    Pages of_other(other);
    ASSERT_TRUE(of_other.reserve(4).is_ok());
    Pages again(pool);
    EXPECT_EQ(again.reserve(8).code(), Code::kResourceExhausted);
    EXPECT_EQ(again.pages().size(), 1U);
    EXPECT_EQ(budget->held_bytes(), 2 * kPageBytes);
  }
  EXPECT_EQ(budget->held_bytes(), 0);
}

TEST(PagePool, GivesTheSystemTheMemoryOfPagesThatNobodyHas) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;  // of a page: whole pages of any system
  terms::Signature large = pool_signature();
  large.inputs = {spec("state.k", "f32[P,64,32,128]")};
  large.outputs = {spec("state.k.next", "f32[P,64,32,128]")};
  const auto pool = PagePool::create(large, 3).value();
  auto* memory = static_cast<std::byte*>(pool->bindings()[0].view.data);
  Pages pages(pool), kept(pool);
  ASSERT_TRUE(pages.reserve(32).is_ok());
  ASSERT_TRUE(kept.reserve(32).is_ok());
  ASSERT_EQ(*pages.pages()[0], 0);
  std::memset(memory, 7, 2 * kBytes);
  pages = Pages(pool);
  // Memory that the system gives anew is zeros.
  EXPECT_EQ(memory[0], std::byte{0});
  EXPECT_EQ(memory[kBytes - 1], std::byte{0});
  EXPECT_EQ(memory[kBytes], std::byte{7});
  EXPECT_EQ(memory[2 * kBytes - 1], std::byte{7});
}

TEST(PagePool, RefusesOtherStates) {
  const struct {
    const char* now;
    const char* next;
  } cases[] = {{"f32[P,3,4,5]", "f32[P,3,4,6]"},
               {"f32[1,3,M,5]", "f32[1,3,M,5]"},
               {"f32[P,3,0,5]", "f32[P,3,0,5]"},
               {"f32[P,3,8,5]", "f32[P,3,8,5]"},
               {"f32[P,4611686018427387904,8,5]", "f32[P,4611686018427387904,8,5]"}};
  for (const auto& c : cases) {
    terms::Signature wrong = pool_signature();
    wrong.inputs[2] = spec("state.v", c.now);
    wrong.outputs[1] = spec("state.v.next", c.next);
    EXPECT_EQ(PagePool::create(wrong, 1).status().code(), Code::kInvalidArgument) << c.now;
  }
  terms::Signature none = pool_signature();
  none.inputs.resize(1);
  EXPECT_THAT(PagePool::create(none, 1).status().message(), HasSubstr("no states"));
  EXPECT_EQ(PagePool::create(pool_signature(), std::int64_t{1} << 60).status().code(),
            Code::kResourceExhausted);
}

}  // namespace
}  // namespace sluice::generate
