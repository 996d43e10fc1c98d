#include "repository/scheduling/ensemble.h"

#include <gmock/gmock.h>

#include "repository/config/model_config.h"

namespace sluice::repository {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kTensors = R"(
platform: "ensemble"
input { name: "photo" data_type: TYPE_FP32 dims: [ 2 ] }
output { name: "name" data_type: TYPE_FP32 dims: [ 2 ] }
)";

std::string step(std::string_view model, std::string_view from, std::string_view to) {
  return fmt::format(
      "step {{ model_name: \"{}\"\n input_map {{ key: \"x\" value: \"{}\" }}\n"
      " output_map {{ key: \"y\" value: \"{}\" }} }}\n",
      model, from, to);
}

Result<ModelConfig> read(std::string_view steps, std::string_view tensors = kTensors) {
  return read_model_config(fmt::format("{}ensemble_scheduling {{\n{}}}", tensors, steps));
}

std::string error_of(std::string_view steps, std::string_view tensors = kTensors) {
  const auto config = read(steps, tensors);
  return config.is_ok() ? "" : config.status().message();
}

TEST(Ensemble, StepsBecomeNodesThatNameTheirLines) {
  const auto config = read(step("crop", "photo", "part") + step("net", "part", "name"));
  ASSERT_TRUE(config.is_ok()) << config.status().to_string();
  EXPECT_EQ(config->platform, "ensemble");
  const auto graph = graph_of(*config);
  ASSERT_TRUE(graph.is_ok());
  const std::string crop = "step 1 (model \"crop\", config.pbtxt line 6)";
  const std::string net = "step 2 (model \"net\", config.pbtxt line 9)";
  ASSERT_EQ(graph->request.nodes.size(), 2U);
  EXPECT_EQ(graph->request.nodes[0].name, crop);
  ASSERT_EQ(graph->request.edges.size(), 1U);
  EXPECT_EQ(graph->request.edges[0].from, (terms::GraphPort{crop, "y"}));
  EXPECT_EQ(graph->request.edges[0].to, (terms::GraphPort{net, "x"}));
  ASSERT_EQ(graph->names.inputs.size(), 1U);
  EXPECT_THAT(graph->names.inputs[0].to, ElementsAre(terms::GraphPort{crop, "x"}));
  ASSERT_EQ(graph->names.outputs.size(), 1U);
  EXPECT_EQ(graph->names.outputs[0].from, (terms::GraphPort{net, "y"}));
}

TEST(Ensemble, VersionMinusOneIsTheNewest) {
  const auto config = read(
      "step { model_name: \"a\" model_version: -1 input_map { key: \"x\" value: \"photo\" }"
      " output_map { key: \"y\" value: \"t\" } }"
      "step { model_name: \"b\" model_version: 3 input_map { key: \"x\" value: \"t\" }"
      " output_map { key: \"y\" value: \"name\" } }");
  ASSERT_TRUE(config.is_ok()) << config.status().to_string();
  EXPECT_EQ(config->steps.at(0).version, std::nullopt);
  EXPECT_EQ(config->steps.at(1).version, 3);
}

TEST(Ensemble, WrongLinksNameTheLine) {
  EXPECT_THAT(error_of(""), HasSubstr("line 5: ensemble_scheduling: there is no step"));
  EXPECT_THAT(error_of(step("net", "nothing", "name")),
              HasSubstr("line 7: input_map: \"nothing\" is no input of the ensemble, and no step"));
  EXPECT_THAT(error_of(step("net", "photo", "t")),
              HasSubstr("line 4: output: no step writes \"name\""));
  EXPECT_THAT(error_of(step("a", "photo", "name") + step("b", "photo", "name")),
              HasSubstr("line 11: line 8 gives the tensor \"name\", too"));
  EXPECT_THAT(error_of(step("a", "photo", "photo")),
              HasSubstr("line 8: line 3 gives the tensor \"photo\", too"));
  EXPECT_THAT(error_of("step { model_name: \"a\" output_map { key: \"y\" value: \"name\" } }"),
              HasSubstr("line 3: input: no step reads \"photo\""));
}

TEST(Ensemble, IncompleteStepsNameTheLine) {
  EXPECT_THAT(error_of("step {\n input_map { key: \"x\" value: \"photo\" } }"),
              HasSubstr("line 6: step: model_name is \"\""));
  EXPECT_THAT(error_of("step { model_name: \"a\" }"),
              HasSubstr("line 6: step: model \"a\" has no output_map"));
  EXPECT_THAT(error_of("step { model_name: \"a\"\n input_map { key: \"x\" } }"),
              HasSubstr("line 7: input_map: the value is missing"));
  EXPECT_THAT(error_of("step { model_name: \"a\"\n input_map { key: \"x\" value: \"photo\" }\n"
                       "input_map { key: \"x\" value: \"photo\" } }"),
              HasSubstr("line 8: input_map: line 7 has the key \"x\", too"));
  EXPECT_THAT(error_of(step("a", "photo", "name"), "platform: \"ensemble\"\n"),
              HasSubstr("line 3: an ensemble declares its inputs"));
}

TEST(Ensemble, PlatformAndStepsGoTogether) {
  const auto config = read_model_config("name: \"a\"\nplatform: \"ensemble\"");
  ASSERT_FALSE(config.is_ok());
  EXPECT_EQ(config.status().message(), "line 2: platform: ensemble_scheduling is missing");
  EXPECT_THAT(error_of(step("a", "photo", "name"),
                       std::string(kTensors) + "max_batch_size: 4\ndynamic_batching {}\n"),
              HasSubstr("line 6: dynamic_batching: an ensemble joins no requests"));
}

}  // namespace
}  // namespace sluice::repository
