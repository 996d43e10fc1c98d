#include "plugin/extents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "testing/op_testing.h"

namespace sluice::cpu {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

/// A Relu of 12 floats, 48 bytes.
TestOp relu() {
  TestOp op("Relu");
  op.input({3, 4}, std::vector<float>(12)).output({3, 4});
  return op;
}

TEST(Extents, AcceptWhatTheOperandsHave) {
  TestOp op = relu();
  Extents extents(op.op());
  extents.reads(0, {3, 4, 4});
  extents.reads(0, {1, 4});
  extents.writes(0, {12, 4});
  EXPECT_TRUE(extents.status().is_ok()) << extents.status().text;
}

TEST(Extents, RefuseAByteMoreOfAnInput) {
  TestOp op = relu();
  Extents extents(op.op());
  extents.reads(0, {49});
  EXPECT_THAT(extents.status().text, HasSubstr("reads to byte 49 of input 0, which has 48"));
}

TEST(Extents, RefuseAByteMoreOrLessOfAnOutput) {
  for (const std::int64_t bytes : {47, 49}) {
    TestOp op = relu();
    Extents extents(op.op());
    extents.writes(0, {bytes});
    EXPECT_THAT(extents.status().text, HasSubstr("of output 0, which has 48")) << bytes;
  }
}

TEST(Extents, RefuseBytesBeforeAnInput) {
  TestOp op = relu();
  Extents extents(op.op());
  extents.reads_between(0, -4, 8);
  EXPECT_FALSE(extents.status().is_ok());
}

TEST(Extents, RefuseFactorsThatOverflowOrAreNegative) {
  for (const Extents::Factors factors :
       {Extents::Factors{kLargest, 2}, Extents::Factors{-1, -48}, Extents::Factors{-1, 0}}) {
    TestOp op = relu();
    Extents extents(op.op());
    extents.reads(0, factors);
    EXPECT_FALSE(extents.status().is_ok());
  }
}

TEST(Extents, AbsentOperandsHaveEmptyExtents) {
  TestOp op = relu();
  Extents extents(op.op());
  extents.reads(1, {0});
  extents.writes(1, {0, 4});
  EXPECT_TRUE(extents.status().is_ok());
  extents.reads(1, {1});
  EXPECT_FALSE(extents.status().is_ok());
}

TEST(Reach, GoesBothWays) {
  const std::int64_t dims[] = {2, 3};
  const std::int64_t strides[] = {10, -1};
  const Reach reach = reach_of(dims, strides);
  EXPECT_EQ(reach.lowest, -2);
  EXPECT_EQ(reach.end, 11);
  const std::int64_t far[] = {kLargest - 3, 1};
  EXPECT_EQ(reach_of(dims, far).lowest, 0);
  const std::int64_t many[] = {3, 3};
  EXPECT_LT(reach_of(many, far).lowest, 0) << "what overflows is before any tensor";
  const std::int64_t none[] = {0, 3};
  EXPECT_EQ(reach_of(none, strides).end, 0);
}

/// An operation whose output contradicts its input, as an attribute of an older version makes it.
TEST(Extents, KeepKernelsInsideOutputsOfAnotherShape) {
  const std::vector<float> x(24, 1.0F);
  const auto refusal = [](TestOp& op) {
    std::unique_ptr<Kernel> kernel;
    return Backend().make_kernel(op.op(), &kernel).text;
  };
  for (const char* kind : {"Softmax", "LogSoftmax", "Relu", "Exp"}) {
    TestOp op(kind);
    op.input({6, 4}, x).output({5, 4});
    EXPECT_NE(refusal(op), "") << kind;
  }
  for (const char* kind : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1"}) {
    TestOp op(kind);
    op.input({6, 4}, x).input<std::int64_t>({1}, {1}, true).output({4});
    EXPECT_THAT(refusal(op), HasSubstr("writes to byte 24 of output 0, which has 16")) << kind;
  }
}

}  // namespace
}  // namespace sluice::cpu
