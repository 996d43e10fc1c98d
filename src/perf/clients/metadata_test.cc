#include "perf/clients/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sluice::perf {
namespace {

using ::testing::HasSubstr;

TEST(Metadata, GivesNamesTypesAndShapes) {
  const auto signature = parse_metadata(R"({"name": "m", "platform": "any",
      "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3], "parameters": {}}],
      "outputs": [{"name": "y", "datatype": "BYTES", "shape": []}, {"name": "z", "datatype": "BOOL"}]})");
  ASSERT_TRUE(signature.is_ok()) << signature.status().to_string();
  ASSERT_EQ(signature->inputs.size(), 1U);
  EXPECT_EQ(signature->inputs[0].name, "x");
  EXPECT_EQ(signature->inputs[0].type.to_string(), "f32[d0,3]");
  ASSERT_EQ(signature->outputs.size(), 2U);
  EXPECT_EQ(signature->outputs[0].type.element(), ir::ElementType::kString);
  EXPECT_EQ(signature->outputs[1].type.element(), ir::ElementType::kBool);
}

TEST(Metadata, RefusesWhatABadServerSaysAndNamesTheField) {
  const std::string many = R"({"name":"x","datatype":"FP32"},)";
  std::string tensors;
  for (int i = 0; i < 1024; ++i) tensors += many;
  std::string sizes = "1";
  for (int i = 0; i < 64; ++i) sizes += ",1";
  const auto tensor = [](const std::string& fields) {
    return R"({"inputs": [{)" + fields + R"(}], "outputs": []})";
  };
  struct Case {
    std::string text;
    std::string says;
  };
  const Case kCases[] = {
      {"", "not JSON"},
      {"<html>", "not JSON"},
      {"\"\xff\"", "not JSON"},
      {std::string((4U << 20U) + 1, ' '), "at most 4194304"},
      {"[]", "expected an object"},
      {"{}", "inputs: missing"},
      {R"({"inputs": 7, "outputs": []})", "inputs: expected a list"},
      {R"({"inputs": []})", "outputs: missing"},
      {R"({"inputs": ["x"], "outputs": []})", "inputs[0]: expected an object"},
      {tensor(R"("name": 7, "datatype": "FP32")"), "inputs[0].name: expected a text"},
      {tensor(R"("name": null, "datatype": "FP32")"), "inputs[0].name: expected a text"},
      {tensor(R"("datatype": "FP32")"), "inputs[0].name: missing"},
      {tensor(R"("name": "x", "datatype": {})"), "inputs[0].datatype: expected a text"},
      {tensor(R"("name": "x", "datatype": "F7")"), "is no datatype"},
      {tensor(R"("name": "x", "datatype": "FP32", "shape": 4)"),
       "inputs[0].shape: expected a list"},
      {tensor(R"("name": "x", "datatype": "FP32", "shape": [1.5])"), "inputs[0].shape[0]"},
      {tensor(R"("name": "x", "datatype": "FP32", "shape": [-2])"), "inputs[0].shape[0]"},
      {tensor(R"("name": "x", "datatype": "FP32", "shape": [18446744073709551615])"), "shape[0]"},
      {tensor(R"("name": "x", "datatype": "FP32", "shape": [)" + sizes + "]"), "a list of 65"},
      {tensor(R"("name": ")" + std::string(1025, 'x') + R"(", "datatype": "FP32")"),
       "at most 1024"},
      {R"({"inputs": [], "outputs": [)" + tensors + R"({"name":"x","datatype":"FP32"}]})",
       "outputs: a list of 1025"},
  };
  for (const Case& one : kCases) {
    EXPECT_THAT(parse_metadata(one.text).status().message(), HasSubstr(one.says))
        << one.text.substr(0, 100);
  }
}

}  // namespace
}  // namespace sluice::perf
