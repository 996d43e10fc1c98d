// Compares the numbers of cuDNN's interface with a toolkit's, while compiling.
#include <cudnn.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "guest/dnn/dnn.h"

namespace sluice::guest::dnn {
namespace {

template <typename Ours, typename Theirs>
constexpr bool same(Ours ours, Theirs theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}

static_assert(same(Status::kSuccess, CUDNN_STATUS_SUCCESS));
static_assert(same(Status::kNotInitialized, CUDNN_STATUS_NOT_INITIALIZED));
static_assert(same(Status::kBadParameter, CUDNN_STATUS_BAD_PARAM));
static_assert(same(Status::kNotSupported, CUDNN_STATUS_NOT_SUPPORTED));
static_assert(same(Status::kAllocationFailed, CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED));
static_assert(same(Status::kExecutionFailed, CUDNN_STATUS_EXECUTION_FAILED));
static_assert(same(Type::kF32, CUDNN_DATA_FLOAT));
static_assert(same(Type::kF16, CUDNN_DATA_HALF));
static_assert(same(Type::kBf16, CUDNN_DATA_BFLOAT16));
static_assert(same(Format::kNchw, CUDNN_TENSOR_NCHW));
static_assert(same(Format::kNhwc, CUDNN_TENSOR_NHWC));
static_assert(same(Mode::kConvolution, CUDNN_CONVOLUTION));
static_assert(same(Mode::kCrossCorrelation, CUDNN_CROSS_CORRELATION));
static_assert(same(ActivationMode::kRelu, CUDNN_ACTIVATION_RELU));
static_assert(same(ActivationMode::kIdentity, CUDNN_ACTIVATION_IDENTITY));
static_assert(same(kDeterministic, CUDNN_DETERMINISTIC));
static_assert(same(kMaxRank, CUDNN_DIM_MAX));
static_assert(sizeof(Performance) == sizeof(cudnnConvolutionFwdAlgoPerf_t));
static_assert(offsetof(Performance, workspace_bytes) ==
              offsetof(cudnnConvolutionFwdAlgoPerf_t, memory));
static_assert(offsetof(Performance, determinism) ==
              offsetof(cudnnConvolutionFwdAlgoPerf_t, determinism));
static_assert(offsetof(Performance, math) == offsetof(cudnnConvolutionFwdAlgoPerf_t, mathType));

TEST(GuestDnnAbi, IsComparedWhileCompiling) { EXPECT_EQ(CUDNN_MAJOR, kVersion / 10000); }

}  // namespace
}  // namespace sluice::guest::dnn
