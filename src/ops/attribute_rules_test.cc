#include "ops/attribute_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::ops {
namespace {

using Longs = std::vector<std::int64_t>;

/// The message; "" if nothing is wrong.
std::string told(std::string_view kind, std::string name, ir::Attribute value) {
  ir::Attributes attributes;
  attributes.set(std::move(name), std::move(value));
  const Status status = check_attribute_rules(kind, attributes);
  return status.is_ok() ? "" : status.message();
}

TEST(AttributeRules, WrongAttributeKindIsNamed) {
  EXPECT_EQ(told("Conv", "strides", 1.5F),
            "attribute \"strides\" is of the wrong kind: got a float, takes a list of integers");
  EXPECT_EQ(told("Tokenizer", "separators", Longs{1}),
            "attribute \"separators\" is of the wrong kind: got a list of integers, takes a list "
            "of texts");
  EXPECT_EQ(told("Elu", "alpha", std::vector<ir::SubgraphId>{}),
            "attribute \"alpha\" is of the wrong kind: got a list of graphs, takes a float");
  EXPECT_NE(told("Constant", "value", std::int64_t{3}), "");
  EXPECT_EQ(told("Pad", "value", 0.5F), "");
  EXPECT_NE(told("RandomNormal", "seed", std::int64_t{3}), "");
  EXPECT_EQ(told("Dropout", "seed", std::int64_t{3}), "");
}

TEST(AttributeRules, RangeHoldsForEveryElement) {
  EXPECT_EQ(told("MaxPool", "kernel_shape", Longs{3, 0}),
            "attribute \"kernel_shape\" is 0; it must be at least 1");
  EXPECT_NE(told("Conv", "pads", Longs{0, -1}), "");
  EXPECT_EQ(told("Pad", "pads", Longs{0, -1}), "");
  EXPECT_EQ(told("MaxPool", "strides", Longs{}), "");
}

TEST(AttributeRules, AllowedWordsDependOnTheOperator) {
  EXPECT_EQ(told("RoiAlign", "mode", std::string("max")), "");
  EXPECT_EQ(told("RoiAlign", "mode", std::string("ma")),
            "attribute \"mode\" is \"ma\"; it must be one of: avg max");
  EXPECT_NE(told("RoiAlign", "mode", std::string("")), "");
  EXPECT_NE(told("Pad", "mode", std::string("max")), "");
  EXPECT_EQ(told("LpNormalization", "p", std::int64_t{3}),
            "attribute \"p\" is 3; it must be one of: 1 2");
  EXPECT_EQ(told("LpPool", "p", std::int64_t{3}), "");
}

TEST(AttributeRules, UnknownAttributesAreIgnored) {
  EXPECT_EQ(told("Conv", "no_such_attribute", 1.5F), "");
}

}  // namespace
}  // namespace sluice::ops
