#include "ir/type.h"

#include <gtest/gtest.h>

namespace sluice::ir {
namespace {

TEST(Type, PrintsAndParsesBack) {
  for (const char* text : {"f32[N,3,224,224]", "i64[]", "f16[?]", "f32[1,64,7,7]@c16",
                           "seq(f32[2*N,max(M,N)])", "optional(seq(string[?]))", "unknown"}) {
    const auto type = parse_type(text);
    ASSERT_TRUE(type.is_ok()) << text << ": " << type.status().to_string();
    EXPECT_EQ(type->to_string(), text);
  }
}

TEST(ParseType, RefusesNonsense) {
  for (const char* text :
       {"", "f33[1]", "f32", "f32[1", "f32[1,]", "f32[1]@blocked", "seq(f32[1]"}) {
    EXPECT_FALSE(parse_type(text).is_ok()) << text;
  }
}

TEST(StorageBytes, PadsChannelsOfBlockedLayouts) {
  EXPECT_EQ(storage_bytes(Type::tensor(ElementType::kF32, Shape{1, 3, 2, 2})), 48);
  EXPECT_EQ(storage_bytes(Type::tensor(ElementType::kF32, Shape{1, 3, 2, 2}, Layout::kC16)), 256);
}

TEST(StorageBytes, PacksFourBitElements) {
  EXPECT_EQ(storage_bytes(Type::tensor(ElementType::kI4, Shape{5})), 3);
}

TEST(StorageBytes, RefusesSymbolsAndOverflow) {
  EXPECT_EQ(storage_bytes(Type::tensor(ElementType::kF32, Shape{Dim::symbol("N")})), std::nullopt);
  const Dim big(std::int64_t{1} << 62);
  EXPECT_EQ(storage_bytes(Type::tensor(ElementType::kF32, Shape{big, big})), std::nullopt);
}

}  // namespace
}  // namespace sluice::ir
