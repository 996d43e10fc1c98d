#include "rpc/wire/function_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "rpc/wire/convert.h"
#include "rpc/wire/fields.h"
#include "terms/load_json.h"

namespace sluice::rpc::wire {
namespace {

using ::testing::HasSubstr;

/// Another number for each field: within its bounds, and not the default.
terms::LoadOptions filled_options() {
  terms::LoadOptions options;
  std::int64_t number = 1;
  const auto fill = [&](const terms::Field& field, auto& member) {
    terms::set_number(member, std::min(std::max(++number, field.least), field.most));
  };
  terms::LoadOptions::visit_fields(
      [&](const terms::Field& field, auto of) { fill(field, of(options)); });
  options.function.emplace();
  terms::FunctionOptions::visit_fields(
      [&](const terms::Field& field, auto of) { fill(field, of(*options.function)); });
  return options;
}

template <typename Options>
void expect_equal_fields(const Options& one, const Options& other) {
  Options::visit_fields([&](const terms::Field& field, auto of) {
    EXPECT_EQ(terms::number_of(of(one)), terms::number_of(of(other))) << field.name;
  });
}

TEST(LoadMessages, CarryEachNumberOfTheTableThereAndBack) {
  const terms::LoadOptions options = filled_options();
  v1::LoadOptions message;
  message.set_path("a.sluice");
  to_proto(options, message);
  const auto back = from_proto(message, 0);
  ASSERT_TRUE(back.is_ok()) << back.status().to_string();
  expect_equal_fields(back->options, options);
  expect_equal_fields(*back->options.function, *options.function);
}

TEST(LoadMessages, JsonCarriesEachNumberOfTheTableThereAndBack) {
  const terms::LoadOptions options = filled_options();
  const nlohmann::json json = terms::to_json(options);
  const auto back = terms::load_options_from_json(JsonValue(json, ""));
  ASSERT_TRUE(back.is_ok()) << back.status().to_string();
  expect_equal_fields(*back, options);
  expect_equal_fields(*back->function, *options.function);
}

TEST(LoadMessages, AbsentNumbersAreTheDefaults) {
  v1::LoadOptions message;
  message.set_path("a.sluice");
  const auto settings = from_proto(message, 0);
  ASSERT_TRUE(settings.is_ok());
  expect_equal_fields(settings->options, terms::LoadOptions());
}

TEST(LoadMessages, NumbersOutOfRangeAreNamed) {
  const auto refusal_of = [](auto set) {
    v1::LoadOptions message;
    message.set_path("a.sluice");
    set(message);
    return from_proto(message, 0).status().message();
  };
  EXPECT_EQ(refusal_of([](auto& load) { load.set_depth(-1); }),
            "a depth of -1 is not between 0 and 1024");
  EXPECT_EQ(refusal_of([](auto& load) { load.set_queue_limit(65537); }),
            "a queue_limit of 65537 is not between 0 and 65536");
  EXPECT_EQ(refusal_of([](auto& load) { load.set_weight(-1); }),
            "a weight of -1 is not between 0 and 1000");
  terms::LoadOptions weightless;  // of a program, which cannot leave a number out
  weightless.weight = 0;
  EXPECT_EQ(terms::check(weightless).message(), "a weight of 0 is not between 1 and 1000");
  EXPECT_EQ(refusal_of([](auto& load) { load.set_max_recorded_bytes(-1); }),
            "max_recorded_bytes is -1; it is 0 or more");
  EXPECT_EQ(refusal_of([](auto& load) { load.set_max_run_ns(-1); }),
            "max_run_ns is -1; it is 0 or more");
  EXPECT_THAT(refusal_of([](auto& load) { load.mutable_function()->set_share(1001); }),
              HasSubstr("a share of 1001"));
}

TEST(FunctionMessages, CarryOptionsAndCountersThereAndBack) {
  terms::FunctionState state;
  state.options = {
      .share = 7, .priority = -2, .memory_bytes = 1 << 20, .keep_warm_ns = 0, .batch_rows = 16};
  state.num_joined = 9;
  state.phase = terms::FunctionPhase::kWarm;
  state.held_bytes = 12;
  state.num_requests = 34;
  state.num_starts = 5;
  state.last_start_ns = 600;
  state.busy_ns = 7000;
  v1::FunctionState message;
  to_proto(state, message);
  const terms::FunctionState back = from_proto(message);
  EXPECT_EQ(back.options.share, 7);
  EXPECT_EQ(back.options.priority, -2);
  EXPECT_EQ(back.options.memory_bytes, 1 << 20);
  EXPECT_EQ(back.options.keep_warm_ns, 0);
  EXPECT_EQ(back.options.batch_rows, 16);
  EXPECT_EQ(back.num_joined, 9);
  EXPECT_EQ(back.phase, terms::FunctionPhase::kWarm);
  EXPECT_EQ(back.held_bytes, 12);
  EXPECT_EQ(back.num_requests, 34);
  EXPECT_EQ(back.num_starts, 5);
  EXPECT_EQ(back.last_start_ns, 600);
  EXPECT_EQ(back.busy_ns, 7000);
}

TEST(FunctionMessages, CarryAProgramThereAndBackInMessagesAndJson) {
  terms::LoadOptions options;
  options.function.emplace().program = {{"--size", "5", ""}, true};
  v1::LoadOptions message;
  message.set_path("/programs/a");
  to_proto(options, message);
  const auto received = from_proto(message, 0);
  ASSERT_TRUE(received.is_ok()) << received.status().to_string();
  const nlohmann::json json = terms::to_json(options);
  const auto read = terms::load_options_from_json(JsonValue(json, ""));
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  for (const auto& back : {received->options, *read}) {
    ASSERT_TRUE(back.function->program.has_value());
    EXPECT_EQ(back.function->program->arguments, options.function->program->arguments);
    EXPECT_TRUE(back.function->program->stays);
  }
  EXPECT_EQ(newer_option(options, 14), "program");
  EXPECT_EQ(newer_option(options, 15), std::nullopt);
}

TEST(FunctionMessages, RefuseProgramsThatNoProcessCouldHave) {
  const auto refusal_of = [](auto set) {
    v1::FunctionOptions message;
    set(message);
    return from_proto(message).status().message();
  };
  EXPECT_THAT(refusal_of([](auto& function) {
                function.mutable_program()->add_arguments(std::string("a\0b", 3));
              }),
              HasSubstr("zero byte"));
  EXPECT_THAT(refusal_of([](auto& function) {
                for (int i = 0; i < 1025; ++i) function.mutable_program()->add_arguments("a");
              }),
              HasSubstr("1024 arguments"));
  EXPECT_THAT(refusal_of([](auto& function) {
                function.mutable_program()->add_arguments(std::string(1 << 16, 'a'));
              }),
              HasSubstr("65536 bytes"));
  EXPECT_THAT(refusal_of([](auto& function) {
                function.mutable_program();
                function.set_batch_rows(4);
              }),
              HasSubstr("batch_rows"));
}

TEST(FunctionMessages, AbsentOptionsAreTheDefaults) {
  const auto options = from_proto(v1::FunctionOptions());
  ASSERT_TRUE(options.is_ok());
  EXPECT_EQ(options->share, 1);
  EXPECT_EQ(options->keep_warm_ns, terms::FunctionOptions().keep_warm_ns);
}

TEST(FunctionMessages, RefuseOptionsOutOfRange) {
  v1::FunctionOptions message;
  message.set_share(-1);
  EXPECT_FALSE(from_proto(message).is_ok());
  message.set_share(1001);
  EXPECT_FALSE(from_proto(message).is_ok());
  message.set_share(1000);
  message.set_keep_warm_ns(-1);
  EXPECT_FALSE(from_proto(message).is_ok());
  message.clear_keep_warm_ns();
  message.set_batch_rows(-1);
  EXPECT_FALSE(from_proto(message).is_ok());
  message.set_batch_rows(1 << 20);
  EXPECT_FALSE(from_proto(message).is_ok());
  message.clear_batch_rows();
  message.set_memory_bytes(-1);
  EXPECT_FALSE(from_proto(message).is_ok());
}

}  // namespace
}  // namespace sluice::rpc::wire
