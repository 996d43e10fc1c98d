#include "terms/runtime_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::terms {
namespace {

using ::testing::HasSubstr;

TEST(RuntimeCode, NumbersMatchThePublicInterface) {
  std::vector<std::int32_t> numbers;
  for (const RuntimeCodeInfo& info : runtime_codes()) {
    numbers.push_back(static_cast<std::int32_t>(info.code));
  }
  EXPECT_EQ(numbers, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1000, 1001, 1002,
                                                1003, 1004}));
}

TEST(RuntimeCode, EachHasANameAndARemedy) {
  for (const RuntimeCodeInfo& info : runtime_codes()) {
    EXPECT_FALSE(info.name.empty());
    EXPECT_TRUE(info.remedy.ends_with('.')) << info.name;
    EXPECT_EQ(info.status_code == Code::kOk, info.code == RuntimeCode::kOk) << info.name;
  }
}

TEST(RuntimeCode, RidesInAStatusThroughAddedContext) {
  const Status status = runtime_error(RuntimeCode::kQueueFull, "{} in flight", 4);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(runtime_code_of(status.with_context("model \"m\"")), RuntimeCode::kQueueFull);
  EXPECT_EQ(status.with_context("model \"m\"").message(), "model \"m\": 4 in flight");
}

TEST(RuntimeCode, DefaultCodeFollowsFromTheStatusCode) {
  EXPECT_EQ(runtime_code_of(ok_status()), RuntimeCode::kOk);
  EXPECT_EQ(runtime_code_of(make_error(Code::kResourceExhausted, "x")),
            RuntimeCode::kOutOfResources);
  EXPECT_EQ(runtime_code_of(make_error(Code::kUnavailable, "x")), RuntimeCode::kDeviceError);
  EXPECT_EQ(runtime_code_of(Status(Code::kInternal, 77, "x")), RuntimeCode::kFailed);
}

TEST(RuntimeCode, ErrorOfARunIsTheRequestsTheMachinesOrAKernels) {
  const auto code_of = [](Code code) { return run_code_of(make_error(code, "x")); };
  EXPECT_EQ(code_of(Code::kInvalidArgument), RuntimeCode::kBadInput);
  EXPECT_EQ(code_of(Code::kOutOfRange), RuntimeCode::kBadInput);
  EXPECT_EQ(code_of(Code::kResourceExhausted), RuntimeCode::kOutOfResources);
  EXPECT_EQ(code_of(Code::kUnavailable), RuntimeCode::kDeviceError);
  EXPECT_EQ(code_of(Code::kDeadlineExceeded), RuntimeCode::kTimeout);
  for (const Code code : {Code::kUnimplemented, Code::kFailedPrecondition, Code::kInternal,
                          Code::kNotFound, Code::kUnknown}) {
    EXPECT_EQ(code_of(code), RuntimeCode::kCompletedWithError);
  }
  EXPECT_EQ(run_code_of(ok_status()), RuntimeCode::kOk);
  EXPECT_EQ(run_code_of(runtime_error(RuntimeCode::kCancelled, "x")), RuntimeCode::kCancelled);
}

TEST(ErrorList, FirstErrorIsTheCauseAndAllHaveRemedies) {
  ErrorList errors;
  errors.add(ok_status());
  EXPECT_TRUE(errors.empty());
  EXPECT_TRUE(errors.to_status().is_ok());
  errors.add(runtime_error(RuntimeCode::kDeviceError, "device 0 is gone"));
  errors.add(runtime_error(RuntimeCode::kModelFailed, "model \"m\" is out of service"));
  EXPECT_EQ(errors.code(), RuntimeCode::kDeviceError);
  EXPECT_THAT(std::string(errors.entries()[1].remedy), HasSubstr("Reset the model"));
  EXPECT_EQ(errors.to_status().message(), "device 0 is gone; model \"m\" is out of service");
  EXPECT_EQ(errors.to_status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace sluice::terms
