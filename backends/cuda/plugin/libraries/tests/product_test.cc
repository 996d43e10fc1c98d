// Products through a library that looks like cuBLASLt, on an emulated device, against the kernels
// that are generated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "driver/content_key.h"
#include "plugin/generate/generate.h"
#include "plugin/libraries/testing/fake_libraries.h"

namespace sluice::cuda {
namespace {

using testing::FakeCublasLt;
using ::testing::HasSubstr;
using testing::TestOp;

class LibraryProducts : public testing::FakeLibraries {
 protected:
  static FakeCublasLt& fake() { return testing::fake_cublaslt(); }
};

TEST_F(LibraryProducts, EqualGeneratedOnesInEveryTypeAndShape) {
  SLUICE_NEEDS_COMPILER();
  for (const auto type : {plugin::kF32, plugin::kF16, plugin::kBf16}) {
    TestOp plain("MatMul", type);
    plain.input({9, 33}).input({33, 21}).output({9, 21});
    EXPECT_THAT(compare(plain).library, HasSubstr("cuBLASLt 13.1.0"));
    TestOp tall("MatMul", type);
    tall.input({2, 3, 4, 5}).input({5, 6}).output({2, 3, 4, 6});
    EXPECT_NE(compare(tall).library, "");
    TestOp stacked("MatMul", type);
    stacked.input({2, 3, 4, 5}).input({2, 3, 5, 6}).output({2, 3, 4, 6});
    EXPECT_NE(compare(stacked).library, "");
    TestOp one_left("MatMul", type);
    one_left.input({4, 5}).input({3, 5, 6}).output({3, 4, 6});
    EXPECT_NE(compare(one_left).library, "");
  }
}

TEST_F(LibraryProducts, GemmTurnsItsFactorsAndScales) {
  SLUICE_NEEDS_COMPILER();
  for (const int turns : {0, 1, 2, 3}) {
    TestOp gemm("Gemm", plugin::kF32);
    const bool turns_a = (turns & 1) != 0;
    const bool turns_b = (turns & 2) != 0;
    gemm.input(turns_a ? testing::Shape{5, 4} : testing::Shape{4, 5})
        .input(turns_b ? testing::Shape{6, 5} : testing::Shape{5, 6})
        .input({4, 6})
        .output({4, 6})
        .set_int("transA", turns_a ? 1 : 0)
        .set_int("transB", turns_b ? 1 : 0)
        .set_float("alpha", 0.5F)
        .set_float("beta", -2);
    const testing::RunResult result = compare(gemm);
    EXPECT_NE(result.library, "");
    EXPECT_FALSE(result.has_tail);
  }
}

TEST_F(LibraryProducts, BiasAndSumNeedNoKernelOfTheirOwn) {
  SLUICE_NEEDS_COMPILER();
  TestOp op("MatMul", plugin::kF16);
  op.input({2, 4, 8}).input({8, 6}).output({2, 4, 6}).body_input({6}).body_input({2, 4, 6});
  op.step("Add", {1, 0}).step("Add", {3, 2});
  const testing::RunResult result = compare(op);
  EXPECT_NE(result.library, "");
  EXPECT_FALSE(result.has_tail);
  TestOp gemm("Gemm", plugin::kF32);
  gemm.input({4, 8}).input({8, 6}).input({1, 6}).output({4, 6}).body_input({4, 6});
  gemm.step("Add", {0, 1});
  EXPECT_FALSE(compare(gemm).has_tail);
}

TEST_F(LibraryProducts, RestOfTheBodyRunsInPlace) {
  SLUICE_NEEDS_COMPILER();
  TestOp op("MatMul", plugin::kF32);
  op.input({4, 8}).input({8, 6}).output({4, 6}).body_input({6}).body_input({4, 1});
  op.step("Add", {0, 1}).step("Mul", {3, 2}).step("Relu", {4}).step("Add", {5, 3});
  const testing::RunResult result = compare(op);
  EXPECT_NE(result.library, "");
  EXPECT_TRUE(result.has_tail);
}

TEST_F(LibraryProducts, ResultThatTheBodyReadsTwiceStaysWhole) {
  SLUICE_NEEDS_COMPILER();
  TestOp op("MatMul", plugin::kF32);
  op.input({4, 8}).input({8, 6}).output({4, 6}).body_input({6});
  op.step("Add", {0, 1}).step("Mul", {2, 0});
  EXPECT_TRUE(compare(op).has_tail);
}

TEST_F(LibraryProducts, BiasThatTheLibraryLacksIsLeftToTheKernel) {
  SLUICE_NEEDS_COMPILER();
  fake().has_bias = false;
  TestOp op("MatMul", plugin::kF32);
  op.input({4, 8}).input({8, 6}).output({4, 6}).body_input({6}).step("Add", {0, 1});
  const testing::RunResult result = compare(op);
  EXPECT_NE(result.library, "");
  EXPECT_TRUE(result.has_tail);
}

TEST_F(LibraryProducts, ShapesThatTheLibraryLacksAreGenerated) {
  SLUICE_NEEDS_COMPILER();
  TestOp vector("MatMul", plugin::kF32);
  vector.input({8}).input({8, 6}).output({6});
  EXPECT_EQ(compare(vector).library, "");
  TestOp mixed("MatMul", plugin::kF32);
  mixed.input({2, 1, 4, 5}).input({1, 3, 5, 6}).output({2, 3, 4, 6});
  EXPECT_EQ(compare(mixed).library, "");
  fake().heuristic = LtStatus::kNotSupported;
  TestOp refused("MatMul", plugin::kF32);
  refused.input({4, 8}).input({8, 6}).output({4, 6});
  EXPECT_EQ(compare(refused).library, "");
}

TEST_F(LibraryProducts, MissingOrForeignLibraryLeavesGeneratedKernels) {
  SLUICE_NEEDS_COMPILER();
  TestOp op("MatMul", plugin::kF32);
  op.input({4, 8}).input({8, 6}).output({4, 6});
  LibraryOptions options = with_library();
  for (const char* file : {"libcublasLt-that-is-not-there.so", "libm.so.6"}) {
    options.cublaslt = file;
    EXPECT_EQ(compare(op, options).library, "");
  }
  fake().version = 110900;
  EXPECT_EQ(compare(op).library, "");
}

TEST_F(LibraryProducts, FailureOfTheFirstRunLeavesTheGeneratedKernel) {
  SLUICE_NEEDS_COMPILER();
  fake().matmul = LtStatus::kExecutionFailed;
  TestOp op("MatMul", plugin::kF32);
  op.input({4, 8}).input({8, 6}).output({4, 6});
  EXPECT_EQ(compare(op).library, "");
}

TEST_F(LibraryProducts, FactorsAreRoundedOnRequestAlone) {
  SLUICE_NEEDS_COMPILER();
  TestOp op("MatMul", plugin::kF32);
  op.input({4, 8}).input({8, 6}).output({4, 6});
  compare(op);
  EXPECT_EQ(fake().compute, LtCompute::kF32);
  LibraryOptions options = with_library();
  options.rounds_to_tf32 = true;
  compare(op, options);
  EXPECT_EQ(fake().compute, LtCompute::kTf32);
}

TEST_F(LibraryProducts, LaterFailureNamesNodeLibraryAndRemedy) {
  start(with_library());
  TestOp op("MatMul", plugin::kF32);
  op.input({4, 8}).input({8, 6}).output({4, 6});
  std::unique_ptr<Kernel> kernel;
  ASSERT_EQ(backend_->make_kernel(0, op.get(), nullptr, &kernel).text, "");
  ASSERT_NE(kernel->library, nullptr);
  std::unique_ptr<Stream> stream;
  ASSERT_EQ(backend_->make_stream(*group_, &stream).text, "");
  void* memory = nullptr;
  ASSERT_EQ(backend_->allocate(0, 4096, &memory).text, "");
  const sluice_argument argument = {-1, 0, memory, 0, nullptr};
  const std::vector<sluice_argument> inputs = {argument, argument};
  CommandList list;
  list.needs = kernel->library->needs();
  ASSERT_EQ(plugin::detail::record_kernel(list, *kernel, inputs, {&argument, 1}).text, "");
  ASSERT_EQ(plugin::detail::finish_list(list).text, "");
  fake().matmul = LtStatus::kAllocationFailed;
  EXPECT_EQ(backend_->submit(*stream, list, {}).text, "");
  const Status status = backend_->wait(*stream, -1);
  EXPECT_EQ(status.code, SLUICE_RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.text, HasSubstr("node"));
  EXPECT_THAT(status.text, HasSubstr("cuBLASLt 13.1.0"));
  EXPECT_THAT(status.text, HasSubstr("SLUICE_CUDA_LIBRARIES=none"));
  backend_->destroy_stream(*stream);
}

TEST_F(LibraryProducts, GreenContextTellsItsMultiprocessors) {
  SLUICE_NEEDS_COMPILER();
  start(with_library(), Confine::kContexts);
  TestOp op("MatMul", plugin::kF32);
  op.input({4, 8}).input({8, 6}).output({4, 6});
  const std::vector<std::int32_t> cores = {0, 1, 2, 3};
  std::unique_ptr<Group> part;
  ASSERT_EQ(backend_->make_group(0, cores, &part).text, "");
  EXPECT_EQ(testing::run_op(*backend_, *part, op.get()).status.text, "");
  EXPECT_EQ(fake().multiprocessors, 4);
}

TEST_F(LibraryProducts, MeasuredChoiceIsMadeOnce) {
  SLUICE_NEEDS_COMPILER();
  TestOp op("MatMul", plugin::kF32);
  op.input({4, 8}).input({8, 6}).output({4, 6}).body_input({6}).step("Add", {0, 1});
  LibraryOptions options = with_library();
  options.are_measured = true;
  const testing::RunResult first = compare(op, options);
  const int num_products = fake().num_products;
  const testing::RunResult second = testing::run_op(*backend_, *group_, op.get());
  EXPECT_EQ(second.library, first.library);
  EXPECT_EQ(second.output, first.output);
  EXPECT_LE(fake().num_products, num_products + 2) << "the trial, and the run itself";
}

TEST_F(LibraryProducts, NamedTacticTakesTheirPlace) {
  SLUICE_NEEDS_COMPILER();
  TestOp op("MatMul", plugin::kF32);
  op.input({9, 33}).input({33, 21}).output({9, 21});
  EXPECT_NE(compare(op).library, "");
  std::vector<std::string> tactics;
  EXPECT_EQ(backend_->list_tactics(op.get(), &tactics).text, "");
  EXPECT_THAT(tactics, ::testing::IsSupersetOf({"generated", "tile-64x64x16"}));
  op.set_text("sluice_variant", "generated");
  EXPECT_EQ(compare(op).library, "");
  TestOp other("MatMul", plugin::kF32);
  other.input({9, 33}).input({33, 21}).output({9, 21}).set_text("sluice_variant", "unknown");
  EXPECT_NE(compare(other).library, "");
}

TEST_F(LibraryProducts, KernelThatAPersonEditedComesFirst) {
  SLUICE_NEEDS_COMPILER();
  start(with_library());
  TestOp op("MatMul", plugin::kF32);
  op.input({4, 8}).input({8, 6}).output({4, 6});
  Source generated;
  ASSERT_EQ(generate(op.get(), &generated).text, "");
  const std::string key = key_of(generated.text);
  sluice_kernel_code code = {};
  code.struct_size = sizeof(code);
  code.key = key.c_str();
  for (const bool is_edited : {false, true}) {
    const std::string text = generated.text + (is_edited ? "// faster" : "");
    code.source = {text.data(), static_cast<std::int64_t>(text.size())};
    std::unique_ptr<Kernel> kernel;
    ASSERT_EQ(backend_->make_kernel(0, op.get(), &code, &kernel).text, "");
    EXPECT_EQ(kernel->library == nullptr, is_edited);
  }
}

TEST_F(LibraryProducts, HandlesAndDescriptorsEndWithTheBackend) {
  SLUICE_NEEDS_COMPILER();
  TestOp op("MatMul", plugin::kF32);
  op.input({4, 8}).input({8, 6}).output({4, 6}).body_input({6}).step("Add", {0, 1});
  compare(op);
  EXPECT_EQ(fake().num_handles, 1);
  end();
  EXPECT_EQ(fake().num_handles, 0);
  EXPECT_EQ(fake().num_descriptors, 0);
}

TEST(LibraryOptions, UnknownWordIsRefusedWithTheKnownOnes) {
  LibraryOptions options;
  EXPECT_THAT(parse_libraries("all", &options).text, HasSubstr("use, none, measure, tf32"));
  EXPECT_EQ(parse_libraries("use", &options).text, "");
  EXPECT_TRUE(options.are_used);
  EXPECT_FALSE(options.rounds_to_tf32);
}

TEST(CublasLtFile, MissingLibraryAndFunctionsAreNamedWithTheRemedy) {
  CublasLt table;
  const Status missing = open_cublaslt("libcublasLt-that-is-not-there.so", &table);
  EXPECT_EQ(missing.code, SLUICE_UNAVAILABLE);
  EXPECT_THAT(missing.text, HasSubstr("libcublasLt-that-is-not-there.so"));
  EXPECT_THAT(missing.text, HasSubstr("SLUICE_CUDA_CUBLASLT"));
  const Status foreign = open_cublaslt("libm.so.6", &table);
  EXPECT_THAT(foreign.text, HasSubstr("lacks cublasLtGetVersion"));
  EXPECT_EQ(table.matmul, nullptr);
}

}  // namespace
}  // namespace sluice::cuda
