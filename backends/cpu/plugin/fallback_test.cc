#include "plugin/fallback.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "plugin/registry.h"
#include "reference/kernels.h"
#include "testing/op_testing.h"

namespace sluice::cpu {
namespace {

/// Operators that only generic kernels run. The list may only shrink: an operator that gets a
/// kernel of its own leaves it, and a new operator needs a kernel or a lowering, unless it cuts
/// strings.
constexpr std::string_view kGeneric =
    "Attention BatchNormalization Bernoulli "
    "BitCast BlackmanWindow CastLike CausalConvWithState CenterCropPad Compress Constant "
    "CumProd Dropout Flatten "
    "HammingWindow HannWindow LinearAttention LpNormalization "
    "MeanVarianceNormalization Multinomial "
    "NegativeLogLikelihoodLoss QLinearConv QLinearMatMul "
    "RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range ReduceLogSum "
    "ReduceLogSumExp RegexFullMatch Reshape Scatter Shape "
    "Size SoftmaxCrossEntropyLoss Squeeze StringConcat StringNormalizer SwiGLU "
    "TensorScatter TfIdfVectorizer Unique Unsqueeze sluice::CouplePairs sluice::ImagePixels "
    "sluice::ImageSize sluice::StringSplitTexts sluice::StringSplitWidth "
    "sluice::TokenizerTexts sluice::TokenizerWidth";

std::string generic_operators() {
  std::string names;
  for (const reference::KernelEntry& entry : reference::all_kernels()) {
    if (find_entry(entry.domain, entry.kind) != nullptr) continue;
    const std::string domain = entry.domain;
    names += (names.empty() ? "" : " ") + (domain.empty() ? "" : domain + "::") + entry.kind;
  }
  return names;
}

TEST(Fallback, RunsOnlyTheseOperators) { EXPECT_EQ(generic_operators(), kGeneric); }

TEST(Fallback, IsToldByTheQuery) {
  TestOp size("Size");
  size.input({2, 2}, {1, 2, 3, 4}).output<std::int64_t>({});
  sluice_op_support support = {};
  ASSERT_TRUE(Backend().query(size.op(), &support).is_ok());
  EXPECT_EQ(support.is_generic, 1);
  TestOp relu("Relu");
  relu.input({2, 2}, {1, 2, 3, 4}).output({2, 2});
  ASSERT_TRUE(Backend().query(relu.op(), &support).is_ok());
  EXPECT_EQ(support.is_generic, 0);
}

}  // namespace
}  // namespace sluice::cpu
