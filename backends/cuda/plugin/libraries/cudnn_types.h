// cuDNN's C interface of graphs, as far as convolutions use it.
//
// Written from NVIDIA's public documentation of cuDNN. Numbers are the interface:
// cudnn_abi_test.cc compares them with cudnn_graph.h where cuDNN is installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/types.h"

namespace sluice::cuda {

using DnnHandle = struct DnnHandleObject*;
/// A tensor, an operation, a graph, a plan: cudnnBackendDescriptor_t. It gets attributes and is
/// then finalized.
using DnnDescriptor = void*;

/// Others are failures, which the library names.
enum class DnnStatus : int {
  kSuccess = 0,
  kAllocationFailed = 4003,
  kDeviceAllocationFailed = 4004
};

/// cudnnBackendDescriptorType_t
enum class DnnKind : int {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristic = 4,
  kPlan = 5,
  kConvolutionForward = 10,
  kPointwiseOperation = 13,
  kGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kDeviceProperties = 38,
};

/// cudnnBackendAttributeName_t
enum class DnnAttribute : int {
  kPointwiseMode = 0,              // DnnPointwise
  kPointwisePrecision = 1,         // DnnType
  kConvolutionPrecision = 100,     // DnnType
  kConvolutionMode = 101,          // DnnConvolution
  kConvolutionDilations = 102,     // int64[spatial]
  kConvolutionStrides = 103,       // int64[spatial]
  kConvolutionPostPaddings = 104,  // int64[spatial]
  kConvolutionPrePaddings = 105,   // int64[spatial]
  kConvolutionSpatialDims = 106,   // int64
  kHeuristicMode = 200,            // DnnHeuristic
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kHeuristicDevice = 204,  // a kDeviceProperties
  kEngineConfigEngine = 300,
  kPlanHandle = 400,
  kPlanEngineConfig = 401,
  kPlanWorkspaceBytes = 402,  // int64
  kPlanDevice = 407,          // a kDeviceProperties
  kForwardAlpha = 700,        // float
  kForwardBeta = 701,         // float
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kPointwiseDescriptor = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,
  kPointwiseY = 753,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,        // int64, bytes
  kTensorType = 901,             // DnnType
  kTensorDims = 902,             // int64[rank]
  kTensorStrides = 903,          // int64[rank], elements
  kTensorId = 906,               // int64
  kTensorIsVirtual = 907,        // bool: lies in no memory
  kPackIds = 1000,               // int64[n]
  kPackPointers = 1001,          // void*[n]
  kPackWorkspace = 1003,         // void*
  kEngineNumericalNotes = 1303,  // DnnNumericalNote[n]
  kEngineBehaviorNotes = 1305,   // DnnBehaviorNote[n]
  kDeviceJson = 2702,            // char[n]
};

/// cudnnBackendAttributeType_t
enum class DnnAttributeType : int {
  kHandle = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kFloat = 4,
  kVoidPointer = 6,
  kConvolutionMode = 7,
  kHeuristicMode = 8,
  kNumericalNote = 11,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kBehaviorNote = 19,
  kChar = 24,
};

/// cudnnDataType_t
enum class DnnType : int { kF32 = 0, kF16 = 2, kBf16 = 9 };

enum class DnnConvolution : int { kCrossCorrelation = 1 };
enum class DnnPointwise : int { kAdd = 0, kRelu = 100 };
/// Order of engines: the fastest by estimate first, or those that take nearly everything.
enum class DnnHeuristic : int { kFallback = 2, kEstimate = 3 };

enum class DnnNumericalNote : int {
  kTensorCore = 0,  // with f32: factors are rounded to TF32
  kRoundsInputs = 1,
  kReducedSums = 2,
  kFft = 3,
  kNondeterministic = 4,
  kWinograd = 5,
  kStrictNan = 9,
  kCount = 10,
};
enum class DnnBehaviorNote : int { kRuntimeCompilation = 0, kCount = 5 };

// A row is row(member of Cudnn, name, result, (arguments)).
// clang-format off
#define SLUICE_CUDNN_ENTRIES(row) \
  row(get_version, cudnnGetVersion, std::size_t, ()) \
  row(get_error_string, cudnnGetErrorString, const char*, (DnnStatus status)) \
  row(get_last_error_string, cudnnGetLastErrorString, void, (char* text, std::size_t capacity)) \
  row(create, cudnnCreate, DnnStatus, (DnnHandle* handle)) \
  row(destroy, cudnnDestroy, DnnStatus, (DnnHandle handle)) \
  row(set_stream, cudnnSetStream, DnnStatus, (DnnHandle handle, CuStream stream)) \
  row(descriptor_create, cudnnBackendCreateDescriptor, DnnStatus, \
      (DnnKind kind, DnnDescriptor* descriptor)) \
  row(descriptor_destroy, cudnnBackendDestroyDescriptor, DnnStatus, (DnnDescriptor descriptor)) \
  row(descriptor_finalize, cudnnBackendFinalize, DnnStatus, (DnnDescriptor descriptor)) \
  row(descriptor_set, cudnnBackendSetAttribute, DnnStatus, \
      (DnnDescriptor descriptor, DnnAttribute name, DnnAttributeType type, std::int64_t count, \
       const void* values)) \
  row(descriptor_get, cudnnBackendGetAttribute, DnnStatus, \
      (DnnDescriptor descriptor, DnnAttribute name, DnnAttributeType type, std::int64_t capacity, \
       std::int64_t* count, void* values)) \
  row(execute, cudnnBackendExecute, DnnStatus, \
      (DnnHandle handle, DnnDescriptor plan, DnnDescriptor pack))
// clang-format on

}  // namespace sluice::cuda
