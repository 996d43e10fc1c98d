// Functions that PyTorch's library imports beside those of convolutions forward: interfaces of
// graphs, training, recurrences, pooling. A call says on stderr what it lacks, and fails.
#include "guest/dnn/dnn.h"

// clang-format off
#define SLUICE_GUEST_DNN_LACKS(lacks) \
  lacks(cudnnBackendCreateDescriptor) lacks(cudnnBackendDestroyDescriptor) \
  lacks(cudnnBackendExecute) lacks(cudnnBackendFinalize) lacks(cudnnBackendGetAttribute) \
  lacks(cudnnBackendSetAttribute) lacks(cudnnBatchNormalizationBackwardEx) \
  lacks(cudnnBatchNormalizationForwardInference) lacks(cudnnBatchNormalizationForwardTrainingEx) \
  lacks(cudnnCTCLoss) lacks(cudnnCTCLoss_v8) lacks(cudnnConvolutionBackwardData) \
  lacks(cudnnConvolutionBackwardFilter) lacks(cudnnCreateCTCLossDescriptor) \
  lacks(cudnnCreateDropoutDescriptor) lacks(cudnnCreatePoolingDescriptor) \
  lacks(cudnnCreateRNNDataDescriptor) lacks(cudnnCreateRNNDescriptor) \
  lacks(cudnnCreateSpatialTransformerDescriptor) lacks(cudnnDestroyCTCLossDescriptor) \
  lacks(cudnnDestroyDropoutDescriptor) lacks(cudnnDestroyRNNDataDescriptor) \
  lacks(cudnnDestroyRNNDescriptor) lacks(cudnnDestroySpatialTransformerDescriptor) \
  lacks(cudnnDropoutGetStatesSize) lacks(cudnnFindConvolutionBackwardDataAlgorithmEx) \
  lacks(cudnnFindConvolutionBackwardFilterAlgorithmEx) \
  lacks(cudnnGetBatchNormalizationBackwardExWorkspaceSize) \
  lacks(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize) \
  lacks(cudnnGetBatchNormalizationTrainingExReserveSpaceSize) lacks(cudnnGetCTCLossWorkspaceSize) \
  lacks(cudnnGetCTCLossWorkspaceSize_v8) lacks(cudnnGetConvolutionBackwardDataAlgorithm_v7) \
  lacks(cudnnGetConvolutionBackwardDataWorkspaceSize) \
  lacks(cudnnGetConvolutionBackwardFilterAlgorithm_v7) \
  lacks(cudnnGetConvolutionBackwardFilterWorkspaceSize) lacks(cudnnGetRNNTempSpaceSizes) \
  lacks(cudnnGetRNNWeightParams) lacks(cudnnGetRNNWeightSpaceSize) lacks(cudnnPoolingForward) \
  lacks(cudnnRNNBackwardData_v8) lacks(cudnnRNNBackwardWeights_v8) lacks(cudnnRNNForward) \
  lacks(cudnnRestoreDropoutDescriptor) lacks(cudnnSetCTCLossDescriptorEx) \
  lacks(cudnnSetCTCLossDescriptor_v9) lacks(cudnnSetDropoutDescriptor) \
  lacks(cudnnSetPooling2dDescriptor) lacks(cudnnSetRNNDataDescriptor) \
  lacks(cudnnSetRNNDescriptor_v8) lacks(cudnnSetSpatialTransformerNdDescriptor) \
  lacks(cudnnSpatialTfGridGeneratorBackward) lacks(cudnnSpatialTfGridGeneratorForward) \
  lacks(cudnnSpatialTfSamplerBackward) lacks(cudnnSpatialTfSamplerForward)
// clang-format on

/// It reads none of its arguments.
#define SLUICE_GUEST_DNN_REFUSE(name) \
  SLUICE_GUEST_DNN_EXPORT int name() { return static_cast<int>(sluice::guest::dnn::refuse(#name)); }
SLUICE_GUEST_DNN_LACKS(SLUICE_GUEST_DNN_REFUSE)
