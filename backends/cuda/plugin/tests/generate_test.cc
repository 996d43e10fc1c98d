// Texts of generated kernels, and what is refused.

#include "plugin/generate/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/compile/nvrtc.h"
#include "plugin/device_code.h"
#include "plugin/generate/text/formulas.h"
#include "plugin/generate/text/text.h"

namespace sluice::cuda {
namespace {

using ::testing::HasSubstr;

TEST(BroadcastIndex, EqualShapesNeedNoArithmetic) {
  const std::vector<std::int64_t> dims = {2, 3};
  EXPECT_EQ(broadcast_index("i", dims, dims), "i");
}

TEST(BroadcastIndex, StretchedAxesDoNotCount) {
  const std::vector<std::int64_t> dims = {2, 3, 4};
  EXPECT_EQ(broadcast_index("i", std::vector<std::int64_t>{4}, dims), "i % 4");
  EXPECT_EQ(broadcast_index("i", std::vector<std::int64_t>{3, 1}, dims), "i / 4 % 3");
  EXPECT_EQ(broadcast_index("i", std::vector<std::int64_t>{2, 1, 4}, dims), "i % 4 + (i / 12) * 4");
  EXPECT_EQ(broadcast_index("i", std::vector<std::int64_t>{}, dims), "0");
}

TEST(BroadcastIndex, NeighboursThatAreOneAxisAreOne) {
  const std::vector<std::int64_t> dims = {2, 3, 4, 5};
  EXPECT_EQ(broadcast_index("i", std::vector<std::int64_t>{4, 5}, dims), "i % 20");
  EXPECT_EQ(broadcast_index("i", std::vector<std::int64_t>{2, 3, 1, 1}, dims), "i / 20");
}

TEST(OffsetAlong, CountsOnlyTheGivenAxes) {
  const std::vector<std::int64_t> dims = {2, 3, 4};
  EXPECT_EQ(offset_along("j", dims, std::vector<std::size_t>{0, 2}), "j % 4 + (j / 4) * 12");
  EXPECT_EQ(offset_along("j", dims, std::vector<std::size_t>{1}), "j * 4");
  EXPECT_EQ(offset_along("j", dims, std::vector<std::size_t>{0, 1}), "j * 4");
}

TEST(Formulas, UnknownOperatorIsRefusedByName) {
  std::string expression;
  const std::vector<std::string> names = {"a"};
  const Status status = write_formula(
      "Where", plugin::Attributes(std::span<const sluice_attribute>()), names, &expression);
  EXPECT_EQ(status.code, SLUICE_UNIMPLEMENTED);
  EXPECT_THAT(status.text, HasSubstr("Where"));
}

/// An operation of vectors of 4 elements, by their types.
struct VectorOp {
  VectorOp(const char* kind, std::vector<sluice_element_type> inputs, sluice_element_type output) {
    for (const sluice_element_type type : inputs) operands.push_back(operand(type));
    result = operand(output);
    op.struct_size = sizeof(op);
    op.domain = "";
    op.kind = kind;
    op.name = "node";
    op.version = 13;
    op.num_inputs = static_cast<std::int32_t>(operands.size());
    op.num_outputs = 1;
    op.inputs = operands.data();
    op.outputs = &result;
  }
  VectorOp(const VectorOp&) = delete;
  VectorOp& operator=(const VectorOp&) = delete;
  ~VectorOp() = default;

  sluice_operand operand(sluice_element_type type) const {
    sluice_operand made = {};
    made.tensor.element_type = type;
    made.tensor.rank = 1;
    made.tensor.dims = &extent;
    made.tensor.size_bytes = plugin::element_bits(type) / 8 * extent;
    return made;
  }

  const std::int64_t extent = 4;
  std::vector<sluice_operand> operands;
  sluice_operand result = {};
  sluice_op op = {};
};

TEST(Types, HalvesAreReadAsFloatsAndRoundedWhereTheyAreWritten) {
  VectorOp add("Add", {plugin::kF16, plugin::kF16}, plugin::kF16);
  Source source;
  ASSERT_EQ(generate(add.op, &source).text, "");
  EXPECT_THAT(source.text, HasSubstr("const F16* x0, const F16* x1, F16* y"));
  EXPECT_THAT(source.text, HasSubstr("cvt.rn.f16.f32"));
}

TEST(Types, OperandsOfDifferentTypesAreRefused) {
  EXPECT_EQ(check_op(VectorOp("Add", {plugin::kF32, plugin::kF16}, plugin::kF32).op).code,
            SLUICE_UNIMPLEMENTED);
  EXPECT_EQ(check_op(VectorOp("Equal", {plugin::kI32, plugin::kI32}, plugin::kI64).op).code,
            SLUICE_UNIMPLEMENTED);
  EXPECT_EQ(check_op(VectorOp("Equal", {plugin::kI32, plugin::kI32}, plugin::kBool).op).text, "");
}

TEST(Types, DivisorOfIntegersMustBeKnownAndNotZero) {
  VectorOp divide("Div", {plugin::kI32, plugin::kI32}, plugin::kI32);
  EXPECT_EQ(check_op(divide.op).code, SLUICE_UNIMPLEMENTED);
  std::vector<std::int32_t> divisors = {1, 2, -3, 4};
  divide.operands[1].is_constant = 1;
  divide.operands[1].tensor.data = divisors.data();
  EXPECT_EQ(check_op(divide.op).text, "");
  divisors[2] = 0;
  EXPECT_EQ(check_op(divide.op).code, SLUICE_UNIMPLEMENTED);
}

TEST(Formulas, OperatorsOfAnyNumberOfInputsNest) {
  std::string expression;
  const std::vector<std::string> names = {"a", "b", "c"};
  ASSERT_TRUE(write_formula("Sum", plugin::Attributes(std::span<const sluice_attribute>()), names,
                            &expression)
                  .is_ok());
  EXPECT_EQ(expression, "((a + b) + c)");
}

TEST(Compiler, MissingLibraryIsNamedWithTheRemedy) {
  Nvrtc compiler("libnvrtc-that-is-not-there.so");
  std::string ptx;
  const Status status = compiler.compile("", "compute_75", &ptx);
  EXPECT_EQ(status.code, SLUICE_UNAVAILABLE);
  EXPECT_THAT(status.text, HasSubstr("libnvrtc-that-is-not-there.so"));
  EXPECT_THAT(status.text, HasSubstr("SLUICE_CUDA_NVRTC"));
}

TEST(Target, DevicesGetTheirOwnArchitectureWhereTheCompilerKnowsIt) {
  const std::vector<int> known = {75, 80, 86, 90};
  EXPECT_EQ(choose_target(90, known, false), "sm_90");
  EXPECT_EQ(choose_target(89, known, false), "compute_86");
  EXPECT_EQ(choose_target(121, known, false), "compute_90");
  EXPECT_EQ(choose_target(70, known, false), "compute_75");
  EXPECT_EQ(choose_target(90, {}, false), "compute_75");
}

TEST(Target, EmulatedDevicesGetPtxThatTheEmulatorKnows) {
  const std::vector<int> known = {75, 80, 90, 120};
  EXPECT_EQ(choose_target(75, known, true), "compute_75");
  EXPECT_EQ(choose_target(86, known, true), "compute_80");
  EXPECT_EQ(choose_target(120, known, true), "compute_90");
}

TEST(Compiler, LogOfAWrongTextIsTheError) {
  Nvrtc compiler("");
  if (Status status = compiler.open(); !status.is_ok()) GTEST_SKIP() << status.text;
  std::string ptx;
  EXPECT_THAT(compiler.compile("nonsense;", "compute_75", &ptx).text,
              HasSubstr("kernel.cu(1): error"));
  EXPECT_EQ(compiler.compile("extern \"C\" __global__ void k() {}", "compute_75", &ptx).text, "");
  EXPECT_THAT(ptx, HasSubstr(".target sm_75"));
}

}  // namespace
}  // namespace sluice::cuda
