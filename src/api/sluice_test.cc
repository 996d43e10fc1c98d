// What a caller of the C interface sees when it does something wrong.
#include "sluice/sluice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "support/paths.h"

namespace {

using ::testing::HasSubstr;

constexpr sluice_code kInvalidArgument = SLUICE_INVALID_ARGUMENT;
constexpr sluice_code kNotFound = SLUICE_NOT_FOUND;
constexpr sluice_code kFailedPrecondition = SLUICE_FAILED_PRECONDITION;

class SluiceApi : public ::testing::Test {
 protected:
  SluiceApi() {
    const auto path = sluice::testing::source_path("tests/golden/package/format_1_0.sluice");
    EXPECT_EQ(sluice_model_open(path.c_str(), nullptr, &model_), SLUICE_OK) << sluice_last_error();
    EXPECT_EQ(sluice_context_create(model_, &context_), SLUICE_OK) << sluice_last_error();
  }
  ~SluiceApi() override {
    sluice_context_free(context_);
    sluice_model_close(model_);
  }

  sluice_array image() { return {pixels_.data(), sizeof(pixels_), 1, 4, dims_.data()}; }

  alignas(64) std::array<float, 64> pixels_ = {};
  std::array<std::int64_t, 4> dims_ = {1, 1, 8, 8};
  sluice_model* model_ = nullptr;
  sluice_context* context_ = nullptr;
};

TEST_F(SluiceApi, DescribesTheModel) {
  ASSERT_EQ(sluice_model_num_inputs(model_), 1U);
  const sluice_tensor_spec* input = sluice_model_input(model_, 0);
  EXPECT_STREQ(input->name, "image");
  EXPECT_STREQ(input->type, "f32[N,1,8,8]");
  EXPECT_EQ(input->rank, 4);
  EXPECT_EQ(input->dims[0], -1);
  EXPECT_EQ(input->dims[3], 8);
  EXPECT_EQ(input->batch_axis, 0);
  EXPECT_EQ(sluice_model_input(model_, 1), nullptr);
}

TEST_F(SluiceApi, RunsByTheExecutorOfTheOptions) {
  const auto path = sluice::testing::source_path("tests/golden/package/format_1_0.sluice");
  std::vector<float> expected;
  for (const std::int32_t executor :
       {SLUICE_EXECUTOR_LINEAR, SLUICE_EXECUTOR_DATAFLOW, SLUICE_EXECUTOR_PARALLEL}) {
    sluice_open_options options = {};
    options.struct_size = sizeof(options);
    options.executor = executor;
    sluice_model* model = nullptr;
    ASSERT_EQ(sluice_model_open(path.c_str(), &options, &model), SLUICE_OK) << sluice_last_error();
    sluice_context* context = nullptr;
    ASSERT_EQ(sluice_context_create(model, &context), SLUICE_OK);
    const sluice_array array = image();
    ASSERT_EQ(sluice_context_set_input(context, nullptr, &array), SLUICE_OK);
    ASSERT_EQ(sluice_context_run(context), SLUICE_OK) << sluice_last_error();
    sluice_array output = {};
    ASSERT_EQ(sluice_context_output(context, nullptr, &output), SLUICE_OK);
    const auto* data = static_cast<const float*>(output.data);
    const std::vector<float> values(data, data + output.size_bytes / 4);
    if (expected.empty()) expected = values;
    EXPECT_EQ(values, expected) << executor;
    sluice_context_free(context);
    sluice_model_close(model);
  }
  sluice_open_options wrong = {};
  wrong.struct_size = sizeof(wrong);
  wrong.executor = 9;
  sluice_model* none = nullptr;
  EXPECT_EQ(sluice_model_open(path.c_str(), &wrong, &none), kInvalidArgument);
  EXPECT_THAT(sluice_last_error(), HasSubstr("executor 9"));
}

TEST_F(SluiceApi, TakesASeed) {
  const auto path = sluice::testing::source_path("tests/golden/package/format_1_0.sluice");
  sluice_open_options options = {};
  options.struct_size = sizeof(options);
  options.has_seed = 1;
  options.seed = UINT64_MAX;
  sluice_model* model = nullptr;
  ASSERT_EQ(sluice_model_open(path.c_str(), &options, &model), SLUICE_OK);
  EXPECT_EQ(sluice_model_set_seed(model, 0), SLUICE_OK);
  EXPECT_EQ(sluice_model_set_seed(nullptr, 0), kInvalidArgument);
  sluice_model_close(model);
}

TEST_F(SluiceApi, ContextOutlivesTheModelHandle) {
  sluice_model_close(model_);
  model_ = nullptr;
  const sluice_array array = image();
  ASSERT_EQ(sluice_context_set_input(context_, nullptr, &array), SLUICE_OK);
  EXPECT_EQ(sluice_context_run(context_), SLUICE_OK) << sluice_last_error();
  sluice_array output = {};
  ASSERT_EQ(sluice_context_output(context_, nullptr, &output), SLUICE_OK);
  EXPECT_EQ(output.rank, 2);
  EXPECT_EQ(output.size_bytes, 40);
}

TEST_F(SluiceApi, UnknownNameErrorListsValidNames) {
  const sluice_array array = image();
  EXPECT_EQ(sluice_context_set_input(context_, "picture", &array), kNotFound);
  EXPECT_THAT(sluice_last_error(), HasSubstr("no input \"picture\"; it has \"image\""));
}

TEST_F(SluiceApi, WrongShapeErrorNamesTheExpectedType) {
  dims_[3] = 9;
  const sluice_array array = image();
  EXPECT_EQ(sluice_context_set_input(context_, "image", &array), kInvalidArgument);
  EXPECT_STREQ(sluice_last_error(), "input \"image\": got f32[1,1,8,9], model takes f32[N,1,8,8]");
}

TEST_F(SluiceApi, InvalidArraysAreRefused) {
  sluice_array array = image();
  array.element_type = 99;
  EXPECT_EQ(sluice_context_set_input(context_, "image", &array), kInvalidArgument);
  array = image();
  array.rank = -1;
  EXPECT_EQ(sluice_context_set_input(context_, "image", &array), kInvalidArgument);
  array = image();
  array.dims = nullptr;
  EXPECT_EQ(sluice_context_set_input(context_, "image", &array), kInvalidArgument);
  array = image();
  array.data = nullptr;
  EXPECT_EQ(sluice_context_set_input(context_, "image", &array), kInvalidArgument);
  dims_[0] = -5;
  array = image();
  EXPECT_EQ(sluice_context_set_input(context_, "image", &array), kInvalidArgument);
}

TEST_F(SluiceApi, RunWithoutInputsNamesTheInput) {
  EXPECT_EQ(sluice_context_run(context_), kFailedPrecondition);
  EXPECT_THAT(sluice_last_error(), HasSubstr("\"image\""));
  sluice_array output = {};
  EXPECT_EQ(sluice_context_output(context_, nullptr, &output), kFailedPrecondition);
}

TEST(SluiceApiErrors, NullHandlesAreRefused) {
  sluice_model* model = nullptr;
  sluice_array array = {};
  EXPECT_EQ(sluice_model_open(nullptr, nullptr, &model), kInvalidArgument);
  EXPECT_EQ(sluice_model_open("x", nullptr, nullptr), kInvalidArgument);
  EXPECT_EQ(sluice_context_create(nullptr, nullptr), kInvalidArgument);
  EXPECT_EQ(sluice_context_run(nullptr), kInvalidArgument);
  EXPECT_EQ(sluice_context_set_input(nullptr, "x", &array), kInvalidArgument);
  EXPECT_EQ(sluice_context_output(nullptr, "x", &array), kInvalidArgument);
  EXPECT_EQ(sluice_model_num_inputs(nullptr), 0U);
  sluice_model_close(nullptr);
  sluice_context_free(nullptr);
}

TEST(SluiceApiErrors, MissingFileIsNamed) {
  sluice_model* model = nullptr;
  EXPECT_EQ(sluice_model_open("/no/such/model.sluice", nullptr, &model), kNotFound);
  EXPECT_THAT(sluice_last_error(), HasSubstr("/no/such/model.sluice"));
  EXPECT_EQ(model, nullptr);
}

TEST_F(SluiceApi, RefusesStatesThatAreNone) {
  const std::array<const char*, 1> input = {"image"};
  const std::array<const char*, 1> unknown = {"nothing"};
  const char* const output = sluice_model_output(model_, 0)->name;
  EXPECT_EQ(sluice_context_keep_states(nullptr, input.data(), &output, 1), kInvalidArgument);
  EXPECT_EQ(sluice_context_keep_states(context_, nullptr, &output, 1), kInvalidArgument);
  EXPECT_EQ(sluice_context_keep_states(context_, input.data(), nullptr, 1), kInvalidArgument);
  EXPECT_EQ(sluice_context_keep_states(context_, unknown.data(), &output, 1), kNotFound);
  EXPECT_EQ(sluice_context_keep_states(context_, input.data(), unknown.data(), 1), kNotFound);
  EXPECT_EQ(sluice_context_keep_states(context_, input.data(), &output, 1), kInvalidArgument);
  EXPECT_THAT(sluice_last_error(), HasSubstr("bind both to one memory"));
  EXPECT_EQ(sluice_context_keep_states(context_, nullptr, nullptr, 0), SLUICE_OK);
  EXPECT_EQ(sluice_context_kept_bytes(context_), 0);
  EXPECT_EQ(sluice_context_kept_bytes(nullptr), 0);
}

TEST_F(SluiceApi, RefusesTensorsOnADeviceThatDoesNotRunTheModel) {
  const sluice_array array = image();
  const char* const output = sluice_model_output(model_, 0)->name;
  const auto set = [&](sluice_context* context, const sluice_array* given, const char* backend) {
    return sluice_context_set_device_input(context, "image", given, backend, 0);
  };
  EXPECT_EQ(set(nullptr, &array, "cuda"), kInvalidArgument);
  EXPECT_EQ(set(context_, nullptr, "cuda"), kInvalidArgument);
  EXPECT_EQ(set(context_, &array, nullptr), kInvalidArgument);
  EXPECT_EQ(set(context_, &array, "cuda"), kFailedPrecondition);
  EXPECT_THAT(sluice_last_error(), HasSubstr("give them in memory of the host"));
  const auto bind = [&](const char* name, const char* backend) {
    return sluice_context_bind_device_output(context_, name, pixels_.data(), 256, backend, 0);
  };
  EXPECT_EQ(bind("nothing", "cuda"), kNotFound);
  EXPECT_EQ(bind(output, nullptr), kInvalidArgument);
  EXPECT_EQ(bind(output, "cuda"), kFailedPrecondition);
}

}  // namespace
