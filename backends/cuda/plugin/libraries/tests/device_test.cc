// Libraries on the GPU of this machine, if it has one: results against generated kernels, and how
// long both take, for people to read.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "plugin/libraries/testing/run_op.h"
#include "plugin/libraries/testing/test_op.h"

namespace sluice::cuda {
namespace {

using testing::Shape;
using testing::TestOp;

constexpr int kRepeats = 20;

class LibrariesOnDevice : public ::testing::Test {
 protected:
  struct Side {
    std::unique_ptr<Backend> backend;
    std::unique_ptr<Group> group;
  };

  static Status open(const char* libraries, Side* side) {
    Driver driver;
    Status status = parse_libraries(libraries, &driver.libraries);
    if (status.is_ok()) status = open_driver(kDriverLibrary, &driver.table);
    if (status.is_ok()) status = Backend::create(std::move(driver), "", &side->backend);
    if (status.is_ok()) status = side->backend->make_group(0, {}, &side->group);
    return status;
  }

  void SetUp() override {
    if (Status status = open("use", &with_); !status.is_ok()) GTEST_SKIP() << status.text;
    ASSERT_EQ(open("none", &without_).text, "");
  }

  /// Prints one line of the table.
  void compare(const std::string& name, TestOp& op, float tolerance) {
    const testing::RunResult ours =
        testing::run_op(*without_.backend, *without_.group, op.get(), kRepeats);
    const testing::RunResult result =
        testing::run_op(*with_.backend, *with_.group, op.get(), kRepeats);
    ASSERT_EQ(ours.status.text, "") << name;
    ASSERT_EQ(result.status.text, "") << name;
    EXPECT_NE(result.library, "") << name << ": no library computes it";
    float worst = 0;
    float largest = 0;
    ASSERT_EQ(result.output.size(), ours.output.size());
    for (std::size_t i = 0; i < ours.output.size(); ++i) {
      // A NaN is the worst of all.
      const float difference = std::abs(result.output[i] - ours.output[i]);
      if (!(difference <= worst)) worst = difference;
      largest = std::max(largest, std::abs(ours.output[i]));
    }
    EXPECT_LE(worst, tolerance * std::max(largest, 1.0F)) << name;
    if (result.library != last_library_) std::printf("%s\n", result.library.c_str());
    last_library_ = result.library;
    std::printf("%-52s library %9.1f us%s  generated %9.1f us  difference %.2g of %.3g\n",
                name.c_str(), static_cast<double>(result.microseconds),
                result.has_tail ? " + kernel" : "         ", static_cast<double>(ours.microseconds),
                static_cast<double>(worst), static_cast<double>(largest));
  }

  Side with_, without_;
  std::string last_library_;
};

struct NamedType {
  const char* name;
  sluice_element_type type;
  float tolerance;  // of the largest element
};
constexpr NamedType kTypes[] = {
    {"f16", plugin::kF16, 4e-3F}, {"bf16", plugin::kBf16, 2e-2F}, {"f32", plugin::kF32, 1e-5F}};

TEST_F(LibrariesOnDevice, ProductsEqualGeneratedOnes) {
  struct Sizes {
    std::int64_t batch, m, k, n;
  };
  for (const Sizes& size :
       {Sizes{1, 9, 33, 21}, Sizes{1, 1, 768, 2304}, Sizes{1, 1, 768, 50257},
        Sizes{1, 128, 768, 768}, Sizes{1, 128, 768, 3072}, Sizes{1, 128, 3072, 768},
        Sizes{1, 4096, 768, 3072}, Sizes{12, 128, 64, 128}, Sizes{384, 128, 128, 64}}) {
    for (const NamedType& type : {kTypes[0], kTypes[2]}) {
      const bool is_stack = size.batch > 1;
      TestOp op("MatMul", type.type);
      op.input(is_stack ? Shape{size.batch, size.m, size.k} : Shape{size.m, size.k});
      op.input(is_stack ? Shape{size.batch, size.k, size.n} : Shape{size.k, size.n});
      op.output(is_stack ? Shape{size.batch, size.m, size.n} : Shape{size.m, size.n});
      compare(std::string("MatMul ") + type.name + " " + std::to_string(size.batch) + " x " +
                  std::to_string(size.m) + " x " + std::to_string(size.k) + " x " +
                  std::to_string(size.n),
              op, type.tolerance);
    }
  }
}

TEST_F(LibrariesOnDevice, BodiesOfProductsEqualGeneratedOnes) {
  for (const NamedType& type : kTypes) {
    TestOp bias("MatMul", type.type);
    bias.input({128, 768}).input({768, 3072}).output({128, 3072}).body_input({3072});
    bias.step("Add", {0, 1});
    compare(std::string("MatMul ") + type.name + " + bias", bias, type.tolerance);
    TestOp gelu("MatMul", type.type);
    gelu.input({128, 768}).input({768, 3072}).output({128, 3072}).body_input({3072});
    gelu.step("Add", {0, 1}).step("Gelu", {2});
    compare(std::string("MatMul ") + type.name + " + bias, gelu", gelu, type.tolerance);
    TestOp sum("MatMul", type.type);
    sum.input({128, 768}).input({768, 768}).output({128, 768}).body_input({768});
    sum.body_input({128, 768}).step("Add", {0, 1}).step("Add", {3, 2});
    compare(std::string("MatMul ") + type.name + " + bias, sum", sum, type.tolerance);
    for (const int turns : {1, 2, 3}) {
      TestOp gemm("Gemm", type.type);
      gemm.input((turns & 1) != 0 ? Shape{256, 72} : Shape{72, 256});
      gemm.input((turns & 2) != 0 ? Shape{1000, 256} : Shape{256, 1000});
      gemm.input({1000})
          .output({72, 1000})
          .set_int("transA", turns & 1)
          .set_int("transB", turns / 2);
      compare(std::string("Gemm ") + type.name + " turned " + std::to_string(turns) + " + bias",
              gemm, type.tolerance);
    }
  }
}

struct ConvolutionSizes {
  std::int64_t images, channels, extent, filters, window, stride, groups;
};

std::string name_of(const ConvolutionSizes& size, const NamedType& type) {
  return std::string("Conv ") + type.name + " " + std::to_string(size.images) + " x " +
         std::to_string(size.channels) + " x " + std::to_string(size.extent) + "^2, " +
         std::to_string(size.filters) + " of " + std::to_string(size.window) + "^2, step " +
         std::to_string(size.stride) + ", groups " + std::to_string(size.groups);
}

/// With a bias and ReLU, and where the tensor has the output's shape a sum between them.
void make_convolution(const ConvolutionSizes& size, bool has_sum, TestOp& op) {
  const std::int64_t pad = size.window / 2;
  const std::int64_t extent = (size.extent + 2 * pad - size.window) / size.stride + 1;
  const Shape output = {size.images, size.filters, extent, extent};
  op.input({size.images, size.channels, size.extent, size.extent});
  op.input({size.filters, size.channels / size.groups, size.window, size.window});
  op.input({size.filters}).output(output).set("pads", {pad, pad, pad, pad});
  op.set("strides", {size.stride, size.stride}).set_int("group", size.groups);
  if (has_sum) {
    op.body_input(output).step("Add", {0, 1}).step("Relu", {2});
  } else {
    op.step("Relu", {0});
  }
}

TEST_F(LibrariesOnDevice, ConvolutionsEqualGeneratedOnes) {
  for (const ConvolutionSizes& size :
       {ConvolutionSizes{1, 3, 224, 64, 7, 2, 1}, ConvolutionSizes{32, 3, 224, 64, 7, 2, 1},
        ConvolutionSizes{1, 64, 56, 64, 3, 1, 1}, ConvolutionSizes{32, 64, 56, 64, 3, 1, 1},
        ConvolutionSizes{1, 256, 56, 64, 1, 1, 1}, ConvolutionSizes{32, 256, 56, 64, 1, 1, 1},
        ConvolutionSizes{1, 512, 7, 512, 3, 1, 1}, ConvolutionSizes{32, 512, 7, 512, 3, 1, 1},
        ConvolutionSizes{1, 32, 112, 32, 3, 1, 32}, ConvolutionSizes{32, 32, 112, 32, 3, 1, 32}}) {
    for (const NamedType& type : {kTypes[0], kTypes[2]}) {
      TestOp op("Conv", type.type);
      make_convolution(size, false, op);
      compare(name_of(size, type), op, type.tolerance);
    }
  }
  for (const ConvolutionSizes& size :
       {ConvolutionSizes{1, 64, 56, 256, 1, 1, 1}, ConvolutionSizes{32, 64, 56, 256, 1, 1, 1}}) {
    TestOp op("Conv", plugin::kF16);
    make_convolution(size, true, op);
    compare(name_of(size, kTypes[0]) + " + sum", op, kTypes[0].tolerance);
  }
}

TEST_F(LibrariesOnDevice, ReluKeepsNaN) {
  TestOp op("Conv", plugin::kF16);
  make_convolution({1, 64, 14, 64, 3, 1, 1}, false, op);
  std::vector<std::vector<float>> inputs;
  for (const sluice_operand& input : plugin::inputs_of(op.get())) {
    inputs.push_back(testing::some_numbers(input.tensor, 1));
  }
  inputs[0][0] = std::nanf("");
  const auto result = testing::run_op(*with_.backend, *with_.group, op.get(), inputs);
  ASSERT_EQ(result.status.text, "");
  EXPECT_TRUE(std::isnan(result.output[0]));
}

}  // namespace
}  // namespace sluice::cuda
