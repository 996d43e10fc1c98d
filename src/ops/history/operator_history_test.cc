#include "ops/history/operator_history.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/schema.h"

namespace sluice::ops {
namespace {

TEST(OperatorHistory, KnowsTheOpsetsOfEachAttribute) {
  const OperatorHistory* sum = find_history("", "ReduceSum");
  ASSERT_NE(sum, nullptr);
  EXPECT_TRUE(sum->has_attribute("axes", 1));
  EXPECT_TRUE(sum->has_attribute("axes", 12));
  EXPECT_FALSE(sum->has_attribute("axes", 13));
  EXPECT_FALSE(sum->has_attribute("noop_with_empty_axes", 12));
  EXPECT_TRUE(sum->has_attribute("noop_with_empty_axes", 28));
  EXPECT_EQ(find_history("", "Gelu")->first, 20);
  EXPECT_EQ(find_history("com.x", "Gelu"), nullptr);
}

/// Attributes of a sibling that shares its shape function; a file cannot give them.
bool is_shared(const OpSchema& schema, std::string_view attribute) {
  return schema.name == "ConstantLike" ||
         (schema.name == "DeformConv" && attribute == "auto_pad") ||
         (schema.name == "Scatter" && attribute == "reduction") ||
         (schema.name == "ScatterND" && attribute == "axis");
}

/// Both tables are about the same operators: what `normalize` fills in, a file may say.
TEST(OperatorHistory, HasAllAttributesOfTheOperatorTable) {
  for (const OpSchema* schema : all_schemas()) {
    if (schema->domain == "sluice") continue;
    const OperatorHistory* history = find_history(schema->domain, schema->name);
    ASSERT_NE(history, nullptr) << schema->domain << "::" << schema->name;
    for (const AttributeSpec& attribute : schema->attributes) {
      // "captures" is import's own.
      if (attribute.name == "captures" || is_shared(*schema, attribute.name)) continue;
      EXPECT_TRUE(std::ranges::count(history->attributes, attribute.name, &AttributeHistory::name))
          << schema->domain << "::" << schema->name << " " << attribute.name;
    }
  }
}

/// The operator table may leave out versions before its first.
TEST(OperatorHistory, HasTheVersionsOfTheOperatorTable) {
  for (const OpSchema* schema : all_schemas()) {
    if (schema->domain == "sluice") continue;
    EXPECT_LE(find_history(schema->domain, schema->name)->first, schema->versions.front())
        << schema->domain << "::" << schema->name;
  }
}

TEST(OperatorHistory, AdvisesOnNamesOfAnyLength) {
  const OperatorHistory& relu = *find_history("", "LeakyRelu");
  EXPECT_EQ(advise_on_attribute(relu, 17, "ALPHA"), "did you mean \"alpha\"?");
  EXPECT_EQ(advise_on_attribute(relu, 17, ""), "it takes alpha");
  EXPECT_EQ(advise_on_attribute(relu, 17, std::string(5000, 'a')), "it takes alpha");
  EXPECT_EQ(similar_operator("", std::string(5000, 'a')), std::nullopt);
  EXPECT_EQ(similar_operator("", ""), std::nullopt);
  EXPECT_EQ(similar_operator("", "MatMull"), "MatMul");
}

}  // namespace
}  // namespace sluice::ops
