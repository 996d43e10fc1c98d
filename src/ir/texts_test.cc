#include "ir/texts.h"

#include <gtest/gtest.h>

#include "ir/verify.h"

namespace sluice::ir {
namespace {

using Views = std::vector<std::string_view>;

TEST(Texts, PackingRoundTrips) {
  using namespace std::string_view_literals;
  const Views texts = {"", "a", "with\0zero"sv, "", "\xc3\xa9"};
  const Constant constant = make_text_constant(texts, {5});
  EXPECT_TRUE(verify_constant(constant).is_ok());
  EXPECT_EQ(unpack_texts(constant), texts);
}

TEST(Texts, EmptyListRoundTrips) {
  const Constant constant = make_text_constant({}, {0});
  EXPECT_TRUE(verify_constant(constant).is_ok());
  EXPECT_TRUE(unpack_texts(constant).empty());
}

}  // namespace
}  // namespace sluice::ir
