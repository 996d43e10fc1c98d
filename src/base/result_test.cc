#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace sluice {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return invalid_argument("{} is odd", value);
  return value / 2;
}

Result<int> quarter(int value) { return SLUICE_TRY(half(SLUICE_TRY(half(value)))); }

Status check_quarter(int value) {
  SLUICE_TRY(quarter(value));
  return ok_status();
}

TEST(SluiceTry, YieldsTheValue) { EXPECT_EQ(quarter(12).value(), 3); }

TEST(SluiceTry, ReturnsTheFirstError) {
  EXPECT_EQ(quarter(6).status().to_string(), "invalid argument: 3 is odd");
  EXPECT_EQ(check_quarter(7).message(), "7 is odd");
}

TEST(SluiceTry, MovesMoveOnlyValues) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(5); };
  const auto use = [&]() -> Result<int> {
    const std::unique_ptr<int> value = SLUICE_TRY(make());
    return *value;
  };
  EXPECT_EQ(use().value(), 5);
}

TEST(Status, ContextIsPrepended) {
  const Status status = half(3).with_context("loading a.sluice").status();
  EXPECT_EQ(status.message(), "loading a.sluice: 3 is odd");
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace sluice
