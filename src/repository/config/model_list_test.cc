#include "repository/config/model_list.h"

#include <gmock/gmock.h>

namespace sluice::repository {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<ModelList> read(const std::string& text) { return read_model_list(text, "/models"); }

/// Reads a model with these fields beside its name and place.
Result<ModelList> read_model(const std::string& fields) {
  return read(R"({"model_config_list": [{"config": {"name": "m", "base_path": "/m")" +
              (fields.empty() ? "" : ", " + fields) + "}}]}");
}

TEST(ModelList, ReadsAListAsOvmsUsersHaveIt) {
  const auto list = read(R"json({
    "model_config_list": [
      {"config": {"name": "resnet", "base_path": "resnet", "nireq": 4, "batch_size": "16",
                  "shape": "(16,3,-1,224:448)", "target_device": "CPU",
                  "plugin_config": {"NUM_STREAMS": "2"},
                  "model_version_policy": {"latest": {"num_versions": 2}}}},
      {"config": {"name": "faces", "base_path": "/other/faces",
                  "shape": {"image": "auto", "size": "(1,2)"}, "layout": {"image": "NCHW"},
                  "model_version_policy": {"specific": {"versions": [1, 3]}},
                  "version_labels": "stable=1"}}
    ],
    "monitoring": {"metrics": {"enable": true}},
    "mediapipe_config_list": []
  })json");
  ASSERT_TRUE(list.is_ok()) << list.status().to_string();
  ASSERT_EQ(list->models.size(), 2U);
  const ListedModel& faces = list->models[0];
  EXPECT_EQ(faces.config.name, "faces");
  EXPECT_EQ(faces.base, "/other/faces");
  EXPECT_THAT(faces.config.policy.versions, ElementsAre(1, 3));
  EXPECT_EQ(faces.config.traffic.labels.at("stable"), 1);
  ASSERT_EQ(faces.config.inputs.size(), 1U);
  EXPECT_EQ(faces.config.inputs[0].name, "size");
  const ListedModel& resnet = list->models[1];
  EXPECT_EQ(resnet.base, "/models/resnet");
  EXPECT_EQ(resnet.config.options.depth, 4);
  EXPECT_EQ(resnet.config.batch_size, 16);
  EXPECT_EQ(resnet.config.policy.num_latest, 2);
  EXPECT_THAT(resnet.config.inputs.at(0).dims, ElementsAre(16, 3, -1, -1));
  EXPECT_THAT(list->warnings, ElementsAre(HasSubstr("monitoring")));
  EXPECT_THAT(resnet.config.warnings,
              ElementsAre(HasSubstr("plugin_config"), HasSubstr("target_device")));
}

TEST(ModelList, TrafficIsNoPartOfWhatALoadDependsOn) {
  const auto plain = read_model("");
  const auto split = read_model(R"("version_weights": "1=1,2=1")");
  EXPECT_EQ(plain->models[0].config.load_text, split->models[0].config.load_text);
  EXPECT_NE(plain->models[0].text, split->models[0].text);
  EXPECT_NE(plain->models[0].config.load_text,
            read_model(R"("nireq": 2)")->models[0].config.load_text);
}

TEST(ModelList, ShapesOfInputsMayStandInAText) {
  const auto list = read_model(R"("shape": "{\"x\": \"(1,2)\", \"y\": \"auto\"}")");
  ASSERT_TRUE(list.is_ok()) << list.status().to_string();
  EXPECT_THAT(list->models[0].config.inputs.at(0).dims, ElementsAre(1, 2));
}

TEST(ModelList, WhatWouldChangeAnswersIsRefused) {
  for (const auto* fields :
       {R"("mean": "[123,116,103]")", R"("scale": "58")", R"("stateful": true)",
        R"("layout": "NHWC:NCHW")", R"("layout": {"x": "NHWC:NCHW"})", R"("color_format": "RGB")",
        R"("precision": "fp32")"}) {
    const auto list = read_model(fields);
    EXPECT_EQ(list.status().code(), Code::kUnimplemented) << fields;
    EXPECT_THAT(list.status().message(), HasSubstr("model_config_list[0].config")) << fields;
  }
  EXPECT_TRUE(read_model(R"("stateful": false, "layout": "NCHW")").is_ok());
}

TEST(ModelList, WhatCannotBeIsRefusedByItsField) {
  const auto refusal = [](const std::string& fields) {
    return read_model(fields).status().message();
  };
  EXPECT_THAT(refusal(R"("nireq": -1)"), HasSubstr("config.nireq"));
  EXPECT_THAT(refusal(R"("nireq": 99999)"), HasSubstr("config.nireq"));
  EXPECT_THAT(refusal(R"("batch_size": "many")"), HasSubstr("config.batch_size"));
  EXPECT_THAT(refusal(R"("batch_size": 1.5)"), HasSubstr("config.batch_size"));
  EXPECT_THAT(refusal(R"("shape": "1,2")"), HasSubstr("config.shape"));
  EXPECT_THAT(refusal(R"json("shape": "(1,x)")json"), HasSubstr("config.shape"));
  EXPECT_THAT(refusal(R"("shape": [1])"), HasSubstr("config.shape"));
  EXPECT_THAT(refusal(R"("shape": "{")"), HasSubstr("config.shape"));
  EXPECT_THAT(refusal(R"("shape": {"x": 1})"), HasSubstr("config.shape.x"));
  EXPECT_THAT(refusal(R"("model_version_policy": {"newest": {}})"), HasSubstr("latest, all"));
  EXPECT_THAT(refusal(R"("model_version_policy": {})"), HasSubstr("latest, all"));
  EXPECT_THAT(refusal(R"("model_version_policy": {"latest": {"num_versions": 0}})"),
              HasSubstr("num_versions"));
  EXPECT_THAT(refusal(R"("model_version_policy": {"specific": {}})"), HasSubstr("versions"));
  EXPECT_THAT(refusal(R"("model_version_policy": {"specific": {"versions": [-1]}})"),
              HasSubstr("versions[0]"));
  EXPECT_THAT(refusal(R"("version_labels": 3)"), HasSubstr("version_labels"));
  EXPECT_THAT(refusal(R"("version_labels": "1=2")"), HasSubstr("version_labels"));
}

TEST(ModelList, NamesPlacesAndListsThatCannotBeAreRefused) {
  const auto refusal = [](const std::string& text) { return read(text).status().message(); };
  const auto one = [&](const std::string& config) {
    return refusal(R"({"model_config_list": [{"config": )" + config + "}]}");
  };
  EXPECT_THAT(refusal("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("model_config_list: missing"));
  EXPECT_THAT(refusal(R"({"model_config_list": {}})"), HasSubstr("a list"));
  EXPECT_THAT(refusal(R"({"model_config_list": [1]})"), HasSubstr("[0].config"));
  EXPECT_THAT(refusal(R"({"model_config_list": [{}]})"), HasSubstr("[0].config"));
  EXPECT_THAT(one("1"), HasSubstr("expected an object"));
  EXPECT_THAT(one(R"({"base_path": "/m"})"), HasSubstr("config.name: missing"));
  EXPECT_THAT(one(R"({"name": "m"})"), HasSubstr("config.base_path: missing"));
  EXPECT_THAT(one(R"({"name": "", "base_path": "/m"})"), HasSubstr("config.name"));
  EXPECT_THAT(one(R"({"name": "../m", "base_path": "/m"})"), HasSubstr("no slash"));
  EXPECT_THAT(one(R"({"name": "m", "base_path": "s3://bucket/m"})"), HasSubstr("this machine"));
  EXPECT_THAT(one(R"({"name": "m", "base_path": ""})"), HasSubstr("this machine"));
  EXPECT_THAT(refusal(R"({"model_config_list": [{"config": {"name": "m", "base_path": "a"}},
                                                {"config": {"name": "m", "base_path": "b"}}]})"),
              HasSubstr("\"m\" comes twice"));
  EXPECT_THAT(refusal(std::string(100'000, '[')), HasSubstr("within each other"));
  EXPECT_THAT(read(R"({"model_config_list": []})")->models, IsEmpty());
}

}  // namespace
}  // namespace sluice::repository
