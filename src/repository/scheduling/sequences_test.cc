#include "repository/scheduling/sequences.h"

#include <gmock/gmock.h>

#include "repository/config/model_config.h"

namespace sluice::repository {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = terms::SequenceControl::Kind;

std::string rules_error(std::string_view text) {
  const auto config = read_model_config(text);
  return config.is_ok() ? "" : config.status().message();
}

TEST(Sequences, ReadsControlsStatesAndStrategy) {
  const auto config = read_model_config(R"(
    max_batch_size: 8
    sequence_batching {
      max_sequence_idle_microseconds: 5000000
      oldest { max_candidate_sequences: 4 max_queue_delay_microseconds: 100 }
      control_input [
        { name: "START" control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } ] },
        { name: "READY" control [ { kind: CONTROL_SEQUENCE_READY int32_false_true: [ -1, 2 ] } ] },
        { name: "END" control [ { kind: CONTROL_SEQUENCE_END bool_false_true: [ false, true ] } ] },
        { name: "ID" control [ { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } ] }
      ]
      state [ {
        input_name: "in" output_name: "out" data_type: TYPE_FP32 dims: [ -1, 2 ]
        initial_state: { data_type: TYPE_FP32 dims: [ 1, 2 ] data_file: "first" name: "a" }
      } ]
    })");
  ASSERT_TRUE(config.is_ok()) << config.status().to_string();
  EXPECT_THAT(config->warnings, IsEmpty());
  ASSERT_TRUE(config->sequences);
  const terms::SequenceRules& rules = *config->sequences;
  EXPECT_TRUE(rules.is_oldest);
  EXPECT_EQ(rules.max_candidates, 4);
  EXPECT_EQ(rules.max_idle_us, 5'000'000);
  ASSERT_EQ(rules.controls.size(), 4U);
  EXPECT_EQ(rules.controls[1].kind, Kind::kReady);
  EXPECT_EQ(rules.controls[1].element, ir::ElementType::kI32);
  EXPECT_EQ(rules.controls[1].false_value, -1);
  EXPECT_EQ(rules.controls[1].true_value, 2);
  EXPECT_EQ(rules.controls[2].element, ir::ElementType::kBool);
  EXPECT_EQ(rules.controls[3].element, ir::ElementType::kString);
  ASSERT_EQ(rules.states.size(), 1U);
  EXPECT_THAT(rules.states[0].dims, ElementsAre(-1, 2));
  EXPECT_THAT(rules.states[0].initial_dims, ElementsAre(1, 2));
  EXPECT_EQ(rules.states[0].data_file, "first");
  ASSERT_TRUE(config->options.batching) << "sequences run as rows of one run";
  EXPECT_EQ(config->options.batching->rows, 8);
  EXPECT_EQ(config->options.batching->max_delay_ns, 100'000);
}

TEST(Sequences, DefaultsAreTritons) {
  const auto config = read_model_config("sequence_batching { }");
  ASSERT_TRUE(config.is_ok());
  EXPECT_EQ(config->sequences->max_idle_us, 1'000'000);
  EXPECT_FALSE(config->sequences->is_oldest);
  EXPECT_FALSE(config->options.batching);
}

TEST(Sequences, WrongRulesNameTheLine) {
  const auto control = [](std::string_view text) {
    return rules_error(
        fmt::format("sequence_batching {{\ncontrol_input {{ name: \"a\"\n{} }} }}", text));
  };
  EXPECT_THAT(control(""), HasSubstr("line 2: control_input: the control is missing"));
  EXPECT_THAT(control("control { kind: NOTHING }"), HasSubstr("line 3: kind: \"NOTHING\" is no"));
  EXPECT_THAT(control("control { kind: CONTROL_SEQUENCE_START }"),
              HasSubstr("line 3: control: int32_false_true, fp32_false_true or bool_false_true"));
  EXPECT_THAT(control("control { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0 ] }"),
              HasSubstr("is missing"));
  EXPECT_THAT(control("control { fp32_false_true: [ 0, 1, 2 ] }"),
              HasSubstr("it has two values, of false and of true"));
  EXPECT_THAT(control("control { int32_false_true: [ 0, 1 ] bool_false_true: [ false, true ] }"),
              HasSubstr("line 3: bool_false_true: the control has int32_false_true, too"));
  EXPECT_THAT(control("control { int32_false_true: [ 0, 1e30 ] }"), HasSubstr("no INT32"));
  EXPECT_THAT(control("control { int32_false_true: [ 0, 0.5 ] }"),
              HasSubstr("\"0.5\" is no INT32"));
  EXPECT_THAT(control("control { fp32_false_true: [ 0, nan ] }"), HasSubstr("\"nan\" is no"));
  EXPECT_THAT(control("control { fp32_false_true: [ 0, 1e300 ] }"), HasSubstr("no FP32"));
  EXPECT_THAT(control("control { fp32_false_true: [ 0, x ] }"), HasSubstr("\"x\" is no number"));
  EXPECT_THAT(control("control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_FP32 }"),
              HasSubstr("data_type is missing, or of another type"));
  EXPECT_THAT(rules_error("sequence_batching {\nstate { initial_state { dims: [ 1 ] } } }"),
              HasSubstr("line 2: initial_state: zero_data or data_file is missing"));
  EXPECT_THAT(rules_error("sequence_batching {\n iterative_sequence: true }"),
              HasSubstr("line 2: iterative_sequence: a request has one answer"));
  EXPECT_THAT(rules_error("max_batch_size: 2 dynamic_batching { }\nsequence_batching { }"),
              HasSubstr("line 1: dynamic_batching: the model has sequence_batching, too"));
  EXPECT_THAT(rules_error("sequence_batching { } parameters { key: \"version_weights\" "
                          "value { string_value: \"1=9,2=1\" } }"),
              HasSubstr("the requests of a sequence stay with one version"));
}

}  // namespace
}  // namespace sluice::repository
