// Compares the project's declarations of cuDNN's interface with those of its headers, while
// compiling.
#include <cudnn_graph.h>
#include <gtest/gtest.h>

#include "driver/testing/alike.h"
#include "plugin/libraries/cudnn.h"

namespace sluice::cuda {
namespace {

#define SLUICE_CUDA_ROW(member, name, result, arguments) \
  static_assert(are_alike<decltype(Cudnn::member), decltype(&(name))>());
SLUICE_CUDNN_ENTRIES(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW

static_assert(same_number(DnnKind::kPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
static_assert(same_number(DnnKind::kConvolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR));
static_assert(same_number(DnnKind::kEngine, CUDNN_BACKEND_ENGINE_DESCRIPTOR));
static_assert(same_number(DnnKind::kEngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR));
static_assert(same_number(DnnKind::kHeuristic, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR));
static_assert(same_number(DnnKind::kPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR));
static_assert(same_number(DnnKind::kConvolutionForward,
                          CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR));
static_assert(same_number(DnnKind::kPointwiseOperation,
                          CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
static_assert(same_number(DnnKind::kGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
static_assert(same_number(DnnKind::kVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
static_assert(same_number(DnnKind::kTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR));
static_assert(same_number(DnnAttribute::kPointwiseMode, CUDNN_ATTR_POINTWISE_MODE));
static_assert(same_number(DnnAttribute::kPointwisePrecision, CUDNN_ATTR_POINTWISE_MATH_PREC));
static_assert(same_number(DnnAttribute::kConvolutionPrecision, CUDNN_ATTR_CONVOLUTION_COMP_TYPE));
static_assert(same_number(DnnAttribute::kConvolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE));
static_assert(same_number(DnnAttribute::kConvolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS));
static_assert(same_number(DnnAttribute::kConvolutionStrides,
                          CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES));
static_assert(same_number(DnnAttribute::kConvolutionPostPaddings,
                          CUDNN_ATTR_CONVOLUTION_POST_PADDINGS));
static_assert(same_number(DnnAttribute::kConvolutionPrePaddings,
                          CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS));
static_assert(same_number(DnnAttribute::kConvolutionSpatialDims,
                          CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
static_assert(same_number(DnnAttribute::kHeuristicMode, CUDNN_ATTR_ENGINEHEUR_MODE));
static_assert(same_number(DnnAttribute::kHeuristicGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
static_assert(same_number(DnnAttribute::kHeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS));
static_assert(same_number(DnnAttribute::kEngineConfigEngine, CUDNN_ATTR_ENGINECFG_ENGINE));
static_assert(same_number(DnnAttribute::kPlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE));
static_assert(same_number(DnnAttribute::kPlanEngineConfig,
                          CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
static_assert(same_number(DnnAttribute::kPlanWorkspaceBytes,
                          CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE));
static_assert(same_number(DnnAttribute::kForwardAlpha,
                          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA));
static_assert(same_number(DnnAttribute::kForwardBeta,
                          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA));
static_assert(same_number(DnnAttribute::kForwardConvolution,
                          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC));
static_assert(same_number(DnnAttribute::kForwardW, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W));
static_assert(same_number(DnnAttribute::kForwardX, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X));
static_assert(same_number(DnnAttribute::kForwardY, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y));
static_assert(same_number(DnnAttribute::kPointwiseDescriptor,
                          CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR));
static_assert(same_number(DnnAttribute::kPointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
static_assert(same_number(DnnAttribute::kPointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC));
static_assert(same_number(DnnAttribute::kPointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
static_assert(same_number(DnnAttribute::kGraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE));
static_assert(same_number(DnnAttribute::kGraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS));
static_assert(same_number(DnnAttribute::kTensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT));
static_assert(same_number(DnnAttribute::kTensorType, CUDNN_ATTR_TENSOR_DATA_TYPE));
static_assert(same_number(DnnAttribute::kTensorDims, CUDNN_ATTR_TENSOR_DIMENSIONS));
static_assert(same_number(DnnAttribute::kTensorStrides, CUDNN_ATTR_TENSOR_STRIDES));
static_assert(same_number(DnnAttribute::kTensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID));
static_assert(same_number(DnnAttribute::kTensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL));
static_assert(same_number(DnnAttribute::kPackIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS));
static_assert(same_number(DnnAttribute::kPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS));
static_assert(same_number(DnnAttribute::kPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
static_assert(same_number(DnnAttribute::kEngineNumericalNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE));
static_assert(same_number(DnnAttribute::kEngineBehaviorNotes, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE));
static_assert(same_number(DnnAttributeType::kHandle, CUDNN_TYPE_HANDLE));
static_assert(same_number(DnnAttributeType::kDataType, CUDNN_TYPE_DATA_TYPE));
static_assert(same_number(DnnAttributeType::kBoolean, CUDNN_TYPE_BOOLEAN));
static_assert(same_number(DnnAttributeType::kInt64, CUDNN_TYPE_INT64));
static_assert(same_number(DnnAttributeType::kFloat, CUDNN_TYPE_FLOAT));
static_assert(same_number(DnnAttributeType::kVoidPointer, CUDNN_TYPE_VOID_PTR));
static_assert(same_number(DnnAttributeType::kConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE));
static_assert(same_number(DnnAttributeType::kHeuristicMode, CUDNN_TYPE_HEUR_MODE));
static_assert(same_number(DnnAttributeType::kNumericalNote, CUDNN_TYPE_NUMERICAL_NOTE));
static_assert(same_number(DnnAttributeType::kPointwiseMode, CUDNN_TYPE_POINTWISE_MODE));
static_assert(same_number(DnnAttributeType::kDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR));
static_assert(same_number(DnnAttributeType::kBehaviorNote, CUDNN_TYPE_BEHAVIOR_NOTE));
static_assert(same_number(DnnAttributeType::kChar, CUDNN_TYPE_CHAR));
static_assert(same_number(DnnStatus::kSuccess, CUDNN_STATUS_SUCCESS));
static_assert(same_number(DnnStatus::kAllocationFailed,
                          CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED));
static_assert(same_number(DnnStatus::kDeviceAllocationFailed,
                          CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED));
static_assert(same_number(DnnType::kF32, CUDNN_DATA_FLOAT));
static_assert(same_number(DnnType::kF16, CUDNN_DATA_HALF));
static_assert(same_number(DnnType::kBf16, CUDNN_DATA_BFLOAT16));
static_assert(same_number(DnnConvolution::kCrossCorrelation, CUDNN_CROSS_CORRELATION));
static_assert(same_number(DnnPointwise::kAdd, CUDNN_POINTWISE_ADD));
static_assert(same_number(DnnPointwise::kRelu, CUDNN_POINTWISE_RELU_FWD));
static_assert(same_number(DnnHeuristic::kFallback, CUDNN_HEUR_MODE_FALLBACK));
static_assert(same_number(DnnHeuristic::kEstimate, CUDNN_HEUR_MODE_A));
static_assert(same_number(DnnNumericalNote::kTensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
static_assert(same_number(DnnNumericalNote::kRoundsInputs,
                          CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
static_assert(same_number(DnnNumericalNote::kReducedSums,
                          CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION));
static_assert(same_number(DnnNumericalNote::kFft, CUDNN_NUMERICAL_NOTE_FFT));
static_assert(same_number(DnnNumericalNote::kNondeterministic,
                          CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
static_assert(same_number(DnnNumericalNote::kWinograd, CUDNN_NUMERICAL_NOTE_WINOGRAD));
static_assert(same_number(DnnNumericalNote::kStrictNan, CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP));
static_assert(same_number(DnnBehaviorNote::kRuntimeCompilation,
                          CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION));
#if CUDNN_VERSION >= 90800
static_assert(same_number(DnnAttribute::kHeuristicDevice, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP));
static_assert(same_number(DnnAttribute::kPlanDevice, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP));
static_assert(same_number(DnnAttribute::kDeviceJson, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION));
static_assert(same_number(DnnKind::kDeviceProperties, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR));
#endif

TEST(CudnnToolkit, DeclarationsAreThoseOfTheInstalledHeader) { EXPECT_GE(CUDNN_VERSION, 90000); }

}  // namespace
}  // namespace sluice::cuda
