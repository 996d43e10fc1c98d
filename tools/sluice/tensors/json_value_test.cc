#include "sluice/tensors/json_value.h"

#include <gtest/gtest.h>

#include <string>

namespace sluice::tool {
namespace {

/// The text after reading and printing.
std::string echo(std::string_view text) {
  const auto value = parse_json_value(text);
  if (!value.is_ok()) return value.status().message();
  const auto printed = print_json_value(*value);
  return printed.is_ok() ? *printed : printed.status().message();
}

TEST(JsonValue, KeepsEveryElementTypeThatItTakes) {
  for (const std::string text : {
           R"({"data":[1.5,-2.0],"shape":[2],"type":"f64"})",
           R"({"data":[0.5,"nan"],"shape":[2],"type":"f32"})",
           R"({"data":["inf",-0.25],"shape":[2],"type":"f16"})",
           R"({"data":[1.0,-0.5],"shape":[2,1],"type":"bf16"})",
           R"({"data":[-9223372036854775808,9223372036854775807],"shape":[2],"type":"i64"})",
           R"({"data":[18446744073709551615],"shape":[],"type":"u64"})",
           R"({"data":[-128,127],"shape":[2],"type":"i8"})",
           R"({"data":[-8,7,-1],"shape":[3],"type":"i4"})",
           R"({"data":[15,0,9],"shape":[3],"type":"u4"})",
           R"({"data":[true,false],"shape":[2],"type":"bool"})",
           R"({"data":["a","","ü"],"shape":[3],"type":"string"})",
       }) {
    EXPECT_EQ(echo(text), text);
  }
}

TEST(JsonValue, PacksTwoI4IntoOneByte) {
  const auto value = parse_json_value(R"({"type":"i4","shape":[3],"data":[1,-1,2]})");
  ASSERT_TRUE(value.is_ok()) << value.status().message();
  ASSERT_EQ(value->tensor->data.size(), 2U);
  EXPECT_EQ(value->tensor->data.data()[0], std::byte{0xF1});
  EXPECT_EQ(value->tensor->data.data()[1], std::byte{0x02});
}

TEST(JsonValue, RoundsBf16ToNearestEven) {
  EXPECT_EQ(echo(R"({"type":"bf16","shape":[2],"data":[1.00390625,1.01171875]})"),
            R"({"data":[1.0,1.015625],"shape":[2],"type":"bf16"})");
}

TEST(JsonValue, KeepsSequences) {
  const std::string text =
      R"({"sequence":[{"data":[1],"shape":[1],"type":"i32"},{"data":[],"shape":[0],"type":"i32"}]})";
  EXPECT_EQ(echo(text), text);
  EXPECT_EQ(echo(R"({"sequence":[]})"), R"({"sequence":[]})");
}

TEST(JsonValue, NamesElementThatDoesNotFitItsType) {
  EXPECT_EQ(echo(R"({"type":"i8","shape":[2],"data":[1,128]})"),
            "\"data\": element 1 does not fit i8");
  EXPECT_EQ(echo(R"({"type":"u4","shape":[1],"data":[-1]})"),
            "\"data\": element 0 does not fit u4");
  EXPECT_EQ(echo(R"({"type":"i32","shape":[1],"data":[0.5]})"),
            "\"data\": element 0 does not fit i32");
  EXPECT_EQ(echo(R"({"type":"bool","shape":[1],"data":[1]})"),
            "\"data\": element 0 does not fit bool");
}

TEST(JsonValue, RefusesShapeOfAnotherNumberOfElements) {
  EXPECT_EQ(echo(R"({"type":"f32","shape":[2,2],"data":[1]})"),
            "\"data\" has 1 element, \"shape\" [2,2] needs another number");
  EXPECT_NE(echo(R"({"type":"f32","shape":[1099511627776,1099511627776],"data":[]})")
                .find("needs another number"),
            std::string::npos);
}

TEST(JsonValue, RefusesWhatIsNoValue) {
  for (const std::string text :
       {"", "[", "3", "{}", R"({"type":"f32"})", R"({"sequence":3})",
        R"({"type":"f99","shape":[],"data":[1]})", R"({"type":"f32","shape":[-1],"data":[]})"}) {
    EXPECT_FALSE(parse_json_value(text).is_ok()) << text;
  }
}

TEST(JsonValue, RefusesDeepNestingWithoutRecursion) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_FALSE(parse_json_value(deep).is_ok());
}

TEST(JsonValue, RefusesSequenceOfSeveralElementTypes) {
  const auto value = parse_json_value(
      R"({"sequence":[{"data":[1],"shape":[1],"type":"i32"},{"data":[1],"shape":[1],"type":"i64"}]})");
  EXPECT_FALSE(value.is_ok());
}

}  // namespace
}  // namespace sluice::tool
