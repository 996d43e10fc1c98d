#include "repository/config/model_config.h"

#include <gmock/gmock.h>

#include "repository/config/check_tensors.h"

namespace sluice::repository {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

std::string error_of(std::string_view text) {
  const auto config = read_model_config(text);
  return config.is_ok() ? "" : config.status().message();
}

TEST(ModelConfig, MapsWhatSluiceHas) {
  const auto config = read_model_config(R"(
    name: "resnet" platform: "onnxruntime_onnx" max_batch_size: 32
    default_model_filename: "net.onnx"
    input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, -1 ] } ]
    output { name: "y" data_type: TYPE_STRING dims: [ 1 ] }
    version_policy: { specific { versions: [ 1, 4 ] } }
    instance_group [ { count: 2 kind: KIND_CPU }, { count: 1 } ]
    dynamic_batching {
      preferred_batch_size: [ 8, 16 ] max_queue_delay_microseconds: 250
      default_queue_policy { max_queue_size: 12 }
    })");
  ASSERT_TRUE(config.is_ok()) << config.status().to_string();
  EXPECT_EQ(config->name, "resnet");
  EXPECT_EQ(config->file_name, "net.onnx");
  EXPECT_THAT(config->inputs.at(0).dims, ElementsAre(3, -1));
  EXPECT_EQ(config->inputs.at(0).element, ir::ElementType::kF32);
  EXPECT_EQ(config->outputs.at(0).element, ir::ElementType::kString);
  EXPECT_EQ(config->policy.kind, VersionPolicy::Kind::kSpecific);
  EXPECT_THAT(config->policy.versions, ElementsAre(1, 4));
  EXPECT_EQ(config->options.depth, 3);
  EXPECT_EQ(config->options.queue_limit, 12);
  ASSERT_TRUE(config->options.batching);
  EXPECT_EQ(config->options.batching->rows, 16);
  EXPECT_EQ(config->options.batching->max_delay_ns, 250'000);
  EXPECT_THAT(config->warnings, ElementsAre());
}

TEST(ModelConfig, KeepsWhatClientsReadOfIt) {
  const auto config = read_model_config(R"(
    platform: "onnxruntime_onnx" backend: "onnxruntime" max_batch_size: 8
    input { name: "x" format: FORMAT_NHWC }
    output { name: "y" label_filename: "labels.txt" }
    parameters { key: "a" value { string_value: "b" } }
    parameters { key: "version_labels" value { string_value: "stable=1" } })");
  ASSERT_TRUE(config.is_ok()) << config.status().to_string();
  EXPECT_EQ(config->platform, "onnxruntime_onnx");
  EXPECT_EQ(config->backend, "onnxruntime");
  EXPECT_EQ(config->inputs.at(0).format, "FORMAT_NHWC");
  EXPECT_EQ(config->outputs.at(0).label_filename, "labels.txt");
  EXPECT_THAT(config->parameters, ElementsAre(Pair("a", "b"))) << "labels of versions may move";
  EXPECT_THAT(config->warnings, ElementsAre(HasSubstr("parameters: has no effect here")));
  EXPECT_THAT(error_of("input { format: NCHW }"), HasSubstr("FORMAT_NCHW"));
}

TEST(ModelConfig, ThreadsOfARunAreCores) {
  const auto cores_of = [](const std::string& value) {
    return read_model_config(
        R"(parameters { key: "intra_op_thread_count" value { string_value: ")" + value + "\" } }");
  };
  const auto four = cores_of("4");
  ASSERT_TRUE(four.is_ok()) << four.status().to_string();
  EXPECT_EQ(four->options.cores, 4);
  EXPECT_THAT(four->warnings, IsEmpty());
  EXPECT_THAT(four->parameters, ElementsAre(Pair("intra_op_thread_count", "4")));
  EXPECT_EQ(cores_of("0")->options.cores, 0) << "all";
  EXPECT_NE(four->load_text, cores_of("0")->load_text) << "the model is loaded again";
  for (const char* wrong : {"", "x", "-1", "4 ", "1.5", "99999999", "99999999999999999999"}) {
    EXPECT_THAT(cores_of(wrong).status().message(), HasSubstr("is no number of threads")) << wrong;
  }
}

TEST(ModelConfig, MayBeJson) {
  const auto config = read_model_config(R"({"name": "m", "max_batch_size": 8,
    "input": [{"name": "x", "data_type": "TYPE_FP32", "dims": ["3", -1], "format": "FORMAT_NONE"}],
    "parameters": {"a": {"string_value": "b"}, "version_labels": {"string_value": "stable=1"}},
    "version_policy": {"specific": {"versions": [1, 4]}},
    "instance_group": [{"count": 2, "kind": "KIND_CPU"}],
    "dynamic_batching": {"preferred_batch_size": [4], "preserve_ordering": false}})");
  ASSERT_TRUE(config.is_ok()) << config.status().to_string();
  EXPECT_EQ(config->name, "m");
  EXPECT_EQ(config->inputs.at(0).element, ir::ElementType::kF32);
  EXPECT_THAT(config->inputs.at(0).dims, ElementsAre(3, -1));
  EXPECT_THAT(config->parameters, ElementsAre(Pair("a", "b")));
  EXPECT_THAT(config->traffic.labels, ElementsAre(Pair("stable", 1)));
  EXPECT_THAT(config->policy.versions, ElementsAre(1, 4));
  EXPECT_EQ(config->options.depth, 2);
  EXPECT_EQ(config->options.batching->rows, 4);
  EXPECT_THAT(config->warnings, ElementsAre("line 3: parameters: has no effect here",
                                            "line 6: preserve_ordering: has no effect here"));
}

TEST(ModelConfig, JoinsUpToTheBatchSizeWithoutPreferredSizes) {
  const auto config = read_model_config("max_batch_size: 7 dynamic_batching { }");
  ASSERT_TRUE(config.is_ok());
  EXPECT_EQ(config->options.batching->rows, 7);
  EXPECT_FALSE(read_model_config("max_batch_size: 7")->options.batching);
}

TEST(ModelConfig, RequestsHaveTheTimeAndThePriorityThatItSays) {
  const auto read = [](const std::string& batching) {
    return read_model_config("max_batch_size: 4 dynamic_batching { " + batching + " }");
  };
  const auto config = read(R"(priority_levels: 3 default_priority_level: 2 default_queue_policy {
    default_timeout_microseconds: 250 timeout_action: REJECT allow_timeout_override: true })");
  ASSERT_TRUE(config.is_ok()) << config.status().to_string();
  EXPECT_EQ(config->options.request_timeout_ns, 250'000);
  EXPECT_EQ(config->num_priorities, 3);
  EXPECT_EQ(config->default_priority, 2);
  EXPECT_THAT(config->warnings, ElementsAre());
  const auto delays = read(R"(default_queue_policy {
    timeout_action: DELAY default_timeout_microseconds: 250 allow_timeout_override: false })");
  ASSERT_TRUE(delays.is_ok()) << delays.status().to_string();
  EXPECT_EQ(delays->options.request_timeout_ns, 0) << "who waits for long is not refused";
  EXPECT_THAT(
      delays->warnings,
      ElementsAre("line 2: allow_timeout_override: a request's own timeout counts",
                  "line 2: timeout_action: a request keeps its place, however long it waits"));
  EXPECT_THAT(read("priority_levels: 1 default_priority_level: 2").status().message(),
              HasSubstr("default_priority_level 2 is over priority_levels 1"));
  EXPECT_THAT(read("default_queue_policy { timeout_action: WAIT }").status().message(),
              HasSubstr("\"WAIT\" is neither REJECT nor DELAY"));
  EXPECT_THAT(read("default_queue_policy { default_timeout_microseconds: -1 }").status().message(),
              HasSubstr("default_timeout_microseconds"));
}

TEST(ModelConfig, WarnsOfFieldsWithoutEffectByLine) {
  const auto config = read_model_config(
      "optimization { graph { level: 1 } }\n"
      "surprise: 1\n"
      "instance_group { kind: KIND_GPU gpus: [ 0 ] }");
  ASSERT_TRUE(config.is_ok());
  EXPECT_THAT(config->warnings,
              ElementsAre("line 1: optimization: has no effect here",
                          "line 2: surprise: unknown field, ignored",
                          "line 3: kind: the model runs where it was compiled for",
                          "line 3: gpus: has no effect here"));
}

TEST(ModelConfig, AnswersAreKeptWhereItSaysSo) {
  const auto kept = [](const char* text) { return read_model_config(text)->keeps_replies; };
  EXPECT_TRUE(kept("response_cache { enable: true }"));
  EXPECT_FALSE(kept("response_cache { enable: false }"));
  EXPECT_FALSE(kept("response_cache { }"));
  EXPECT_FALSE(kept("max_batch_size: 1"));
  EXPECT_THAT(error_of("sequence_batching { } response_cache { enable: true }"),
              HasSubstr("line 1: response_cache: an answer of a sequence depends"));
  EXPECT_THAT(error_of("response_cache { enable: maybe }"), HasSubstr("line 1"));
}

TEST(ModelConfig, EnsembleLeavesItsAnswersToItsModels) {
  const auto config = read_model_config(R"(platform: "ensemble"
    response_cache { enable: true }
    input { name: "a" data_type: TYPE_FP32 dims: [ 1 ] }
    output { name: "b" data_type: TYPE_FP32 dims: [ 1 ] }
    ensemble_scheduling { step { model_name: "m" input_map { key: "x" value: "a" }
                                 output_map { key: "y" value: "b" } } })");
  ASSERT_TRUE(config.is_ok()) << config.status().to_string();
  EXPECT_FALSE(config->keeps_replies);
  EXPECT_THAT(config->warnings,
              ElementsAre("line 2: response_cache: the models of the ensemble keep their answers"));
}

TEST(ModelConfig, RefusesWhatWouldChangeAnswers) {
  EXPECT_THAT(error_of("backend: \"python\""), HasSubstr("\"python\" is not served"));
  EXPECT_THAT(error_of("input { reshape { shape: [ 1 ] } }"), HasSubstr("the model's shapes"));
  EXPECT_THAT(error_of("input { allow_ragged_batch: true }"), HasSubstr("ragged"));
}

TEST(ModelConfig, DecoupledModelKeepsItsOneAnswer) {
  const auto config = read_model_config("model_transaction_policy { decoupled: true }");
  ASSERT_TRUE(config.is_ok()) << config.status().to_string();
  EXPECT_THAT(config->warnings,
              ElementsAre("line 1: decoupled: models of texts alone have several answers"));
}

TEST(ModelConfig, RefusesNumbersOutOfRange) {
  EXPECT_THAT(error_of("max_batch_size: -1"), HasSubstr("line 1: max_batch_size"));
  EXPECT_THAT(error_of("max_batch_size: 99999999999999999999"), HasSubstr("whole number"));
  EXPECT_THAT(error_of("input { dims: -2 }"), HasSubstr("whole number from -1"));
  EXPECT_THAT(error_of("version_policy { latest { num_versions: 0 } }"), HasSubstr("from 1"));
  EXPECT_THAT(error_of("instance_group { count: 100000 }"), HasSubstr("count"));
  EXPECT_THAT(error_of("dynamic_batching { }"), HasSubstr("max_batch_size is missing"));
  EXPECT_THAT(error_of("max_batch_size: 4 dynamic_batching { preferred_batch_size: 8 }"),
              HasSubstr("over max_batch_size 4"));
  EXPECT_THAT(error_of("default_model_filename: \"../x\""), HasSubstr("slash"));
  EXPECT_THAT(error_of("input { data_type: TYPE_FP99 }"), HasSubstr("TYPE_FP32"));
}

TEST(ModelConfig, TensorsAreBounded) {
  for (const std::string kind : {"input", "output"}) {
    std::string text;
    for (int i = 0; i < 1024; ++i) text += kind + " { }\n";
    EXPECT_EQ(error_of(text), "");
    text += kind + " { }";
    EXPECT_THAT(error_of(text), HasSubstr("line 1025: " + kind + ": more than 1024"));
  }
}

TEST(ModelConfig, WarningsAreBounded) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "metric_tags { }\n";
  const auto config = read_model_config(text);
  ASSERT_TRUE(config.is_ok()) << config.status().to_string();
  ASSERT_EQ(config->warnings.size(), 65U);
  EXPECT_EQ(config->warnings.at(63), "line 64: metric_tags: has no effect here");
  EXPECT_THAT(config->warnings.at(64), HasSubstr("line 65: metric_tags: more fields"));
}

TEST(ModelConfig, TensorsMustBeTheModels) {
  terms::Signature signature;
  const auto type = ir::Type::tensor(ir::ElementType::kF32, ir::Shape{ir::Dim::symbol("N"), 3});
  signature.inputs = {{"x", type}};
  signature.outputs = {{"y", type}};
  const auto check = [&](std::string_view text) {
    return check_tensors(read_model_config(text).value(), signature).message();
  };
  EXPECT_EQ(check("max_batch_size: 4 input { name: \"x\" data_type: TYPE_FP32 dims: 3 }"), "");
  EXPECT_EQ(check("output { name: \"y\" dims: [ -1, 3 ] }"), "");
  EXPECT_THAT(check("\ninput { name: \"z\" }"),
              HasSubstr("line 2: input \"z\": the model has none"));
  EXPECT_THAT(check("input { name: \"x\" data_type: TYPE_INT64 }"), HasSubstr("INT64"));
  EXPECT_THAT(check("input { name: \"x\" dims: [ 3 ] }"), HasSubstr("dims are [3], the model has"));
  EXPECT_THAT(check("max_batch_size: 4 output { name: \"y\" dims: 4 }"),
              HasSubstr("[4] behind the rows"));
}

}  // namespace
}  // namespace sluice::repository
