#include "reference/kernels.h"

#include <gtest/gtest.h>

#include <limits>

#include "reference/elements.h"

namespace sluice::reference {
namespace {

using plugin::kF32;
using plugin::kI64;

/// An operand that owns its dimensions and floats.
struct Floats {
  std::vector<std::int64_t> dims;
  std::vector<float> values;

  sluice_tensor tensor() {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(float));
    return {values.data(), bytes, kF32, 0, static_cast<std::int32_t>(dims.size()), 0, dims.data()};
  }
  sluice_operand operand() {
    sluice_operand operand = {tensor(), 0, nullptr, 0};
    operand.tensor.data = nullptr;
    return operand;
  }
};

sluice_op op_of(const char* kind, const sluice_operand& input, const sluice_operand& output) {
  sluice_op op = {};
  op.struct_size = sizeof(op);
  op.version = 14;
  op.domain = "";
  op.kind = kind;
  op.name = "";
  op.num_inputs = 1;
  op.num_outputs = 1;
  op.inputs = &input;
  op.outputs = &output;
  return op;
}

Status run(const sluice_op& op, std::vector<sluice_tensor> inputs, sluice_tensor output) {
  if (Status status = check_op(op); !status.is_ok()) return status;
  std::unique_ptr<plugin::HostKernel> kernel;
  if (Status status = make_kernel(op, &kernel); !status.is_ok()) return status;
  std::int64_t* const none = nullptr;
  return kernel->run(Call(op, inputs, {&output, 1}, {&none, 1}));
}

TEST(Kernels, ReluOfFloats) {
  Floats x{{4}, {-1, 0, 2.5F, -0.5F}};
  Floats y{{4}, {9, 9, 9, 9}};
  const sluice_operand in = x.operand();
  const sluice_operand out = y.operand();
  EXPECT_TRUE(run(op_of("Relu", in, out), {x.tensor()}, y.tensor()).is_ok());
  EXPECT_EQ(y.values, (std::vector<float>{0, 0, 2.5F, 0}));
}

TEST(Kernels, RefuseUnknownKindsTypesAndShapes) {
  Floats x{{4}, {1, 2, 3, 4}};
  Floats y{{3}, {0, 0, 0}};
  sluice_operand in = x.operand();
  const sluice_operand out = y.operand();
  EXPECT_EQ(check_op(op_of("NoSuchOp", in, out)).code, SLUICE_UNIMPLEMENTED);
  EXPECT_EQ(check_op(op_of("Sqrt", in, out)).code, SLUICE_INVALID_ARGUMENT);
  in.tensor.element_type = kI64;
  EXPECT_EQ(check_op(op_of("Sqrt", in, in)).text, "Sqrt: element type 7 is not supported");
}

TEST(Kernels, BodyIsAppliedToTheResultAndBroadcast) {
  Floats x{{2, 2}, {1, 16, 81, -4}};
  Floats y{{2, 2}, {0, 0, 0, 0}};
  const sluice_operand in = x.operand();
  const sluice_operand out = y.operand();
  const std::int32_t registers[] = {0, 1};
  const sluice_body_step steps[] = {{"Sqrt", 13, 1, &registers[0], 0, nullptr},
                                    {"Sqrt", 13, 1, &registers[1], 0, nullptr}};
  const sluice_body body = {1, 0, nullptr, 2, steps, 2};
  sluice_op op = op_of("Relu", in, out);
  op.body = &body;
  EXPECT_EQ(run(op, {x.tensor()}, y.tensor()).text, "");
  EXPECT_EQ(y.values, (std::vector<float>{1, 2, 3, 0}));
}

TEST(Kernels, BodyMayNotReadARegisterAheadOfItsWriter) {
  Floats x{{1}, {1}};
  const sluice_operand in = x.operand();
  const std::int32_t ahead = 1;
  const sluice_body_step step = {"Sqrt", 13, 1, &ahead, 0, nullptr};
  const sluice_body body = {1, 0, nullptr, 1, &step, 1};
  sluice_op op = op_of("Relu", in, in);
  op.body = &body;
  EXPECT_EQ(check_op(op).text, "Relu: body step Sqrt: reads register 1 before it is written");
}

TEST(Elements, HalfRoundsToNearestEvenAndKeepsSpecials) {
  EXPECT_EQ(Half(1.0F).bits, 0x3c00);
  EXPECT_EQ(Half(65504.0F).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0F).bits, 0x7c00);
  EXPECT_EQ(Half(-1e30F).bits, 0xfc00);
  EXPECT_EQ(Half(1.00048828125F).bits, 0x3c00);  // half-way: to even
  EXPECT_EQ(Half(5.9604645e-8F).bits, 1);        // the least above zero
  EXPECT_EQ(Half(2.9802322e-8F).bits, 0);
  EXPECT_GT(Half(std::numeric_limits<float>::quiet_NaN()).bits & 0x3ff, 0);
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    Half half;
    half.bits = static_cast<std::uint16_t>(bits);
    ASSERT_EQ(Half(static_cast<float>(half)).bits, bits);
  }
}

TEST(Elements, Bfloat16IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(Bfloat16(1.0F).bits, 0x3f80);
  EXPECT_EQ(static_cast<float>(Bfloat16(3.0F)), 3.0F);
  EXPECT_EQ(Bfloat16(1.00390625F).bits, 0x3f80);  // half-way: to even
}

}  // namespace
}  // namespace sluice::reference
