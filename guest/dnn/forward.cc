// Handles, and the calls that convolve.
#include <cstdio>
#include <new>
#include <string>

#include "guest/dnn/dnn.h"
#include "guest/runtime/abi.h"

extern "C" int cudaGetDeviceCount(int* count);

namespace sluice::guest::dnn {
namespace {

Status create_handle(void** handle) {
  if (handle == nullptr) return Status::kBadParameter;
  int count = 0;
  if (cudaGetDeviceCount(&count) != 0 || count == 0) return Status::kNotInitialized;
  *handle = new (std::nothrow) Handle;
  return *handle != nullptr ? Status::kSuccess : Status::kAllocationFailed;
}

/// What describes a convolution, in the interface's order.
struct Descriptions {
  const void* x;
  const void* filter;
  const void* window;
  const void* y;
};

Convolution described(const Descriptions& of) {
  Convolution made;
  made.x.tensor = static_cast<const Tensor*>(of.x);
  made.filter = static_cast<const Filter*>(of.filter);
  made.window = static_cast<const Window*>(of.window);
  made.y.tensor = made.z.tensor = static_cast<const Tensor*>(of.y);
  return made;
}

/// Gives the one algorithm there is. It needs no memory.
Status find_algorithm(const void* handle, const Descriptions& of, int room, int* count,
                      Performance* found) {
  if (handle == nullptr) return Status::kNotInitialized;
  if (room < 1 || count == nullptr || found == nullptr) return Status::kBadParameter;
  *count = 0;
  const Status status = check(described(of));
  if (status != Status::kSuccess) return status;
  *found = {};
  found->determinism = kDeterministic;
  *count = 1;
  return Status::kSuccess;
}

Status convolve_by(void* handle, const Convolution& of) {
  if (handle == nullptr) return Status::kNotInitialized;
  return convolve(static_cast<const Handle*>(handle)->stream, of);
}

const char* name_of(int status) {
  switch (static_cast<Status>(status)) {
    case Status::kSuccess: return "CUDNN_STATUS_SUCCESS";
    case Status::kNotInitialized: return "CUDNN_STATUS_NOT_INITIALIZED";
    case Status::kBadParameter: return "CUDNN_STATUS_BAD_PARAM";
    case Status::kNotSupported: return "CUDNN_STATUS_NOT_SUPPORTED";
    case Status::kAllocationFailed: return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
    case Status::kExecutionFailed: return "CUDNN_STATUS_EXECUTION_FAILED";
  }
  return "unknown cuDNN status";
}

}  // namespace
}  // namespace sluice::guest::dnn

using sluice::guest::dnn::ActivationKind;
using sluice::guest::dnn::ActivationMode;
using sluice::guest::dnn::Convolution;
using sluice::guest::dnn::Handle;
using sluice::guest::dnn::Performance;
using sluice::guest::dnn::refuse;
using sluice::guest::dnn::Status;
using sluice::guest::dnn::Tensor;

SLUICE_GUEST_DNN_EXPORT int cudnnCreate(void** handle) {
  return static_cast<int>(sluice::guest::dnn::create_handle(handle));
}
SLUICE_GUEST_DNN_EXPORT int cudnnDestroy(void* handle) {
  delete static_cast<Handle*>(handle);
  return static_cast<int>(Status::kSuccess);
}
SLUICE_GUEST_DNN_EXPORT int cudnnSetStream(void* handle, void* stream) {
  if (handle == nullptr) return static_cast<int>(Status::kNotInitialized);
  static_cast<Handle*>(handle)->stream = stream;
  return static_cast<int>(Status::kSuccess);
}
SLUICE_GUEST_DNN_EXPORT int cudnnGetStream(void* handle, void** stream) {
  if (handle == nullptr) return static_cast<int>(Status::kNotInitialized);
  return static_cast<int>(
      sluice::guest::dnn::give(static_cast<const Handle*>(handle)->stream, stream));
}
SLUICE_GUEST_DNN_EXPORT std::size_t cudnnGetVersion() { return sluice::guest::dnn::kVersion; }
SLUICE_GUEST_DNN_EXPORT std::size_t cudnnGetCudartVersion() {
  return sluice::guest::kRuntimeVersion;
}
/// Parts of the version: 0 to 2.
SLUICE_GUEST_DNN_EXPORT int cudnnGetProperty(int part, int* value) {
  const int version = static_cast<int>(sluice::guest::dnn::kVersion);
  const int parts[] = {version / 10000, version / 100 % 100, version % 100};
  if (part < 0 || part > 2) return static_cast<int>(Status::kBadParameter);
  return static_cast<int>(sluice::guest::dnn::give(parts[part], value));
}
SLUICE_GUEST_DNN_EXPORT const char* cudnnGetErrorString(int status) {
  return sluice::guest::dnn::name_of(status);
}
SLUICE_GUEST_DNN_EXPORT void cudnnGetLastErrorString(char* message, std::size_t room) {
  if (message != nullptr && room > 0) std::snprintf(message, room, "see standard error");
}

SLUICE_GUEST_DNN_EXPORT int cudnnGetConvolutionForwardAlgorithm_v7(void* handle, const void* x,
                                                                   const void* filter,
                                                                   const void* window,
                                                                   const void* y, int room,
                                                                   int* count, Performance* found) {
  return static_cast<int>(
      sluice::guest::dnn::find_algorithm(handle, {x, filter, window, y}, room, count, found));
}
SLUICE_GUEST_DNN_EXPORT int cudnnFindConvolutionForwardAlgorithmEx(
    void* handle, const void* x, const void* /*x_data*/, const void* filter,
    const void* /*weights*/, const void* window, const void* y, void* /*y_data*/, int room,
    int* count, Performance* found, void* /*workspace*/, std::size_t /*workspace_bytes*/) {
  return static_cast<int>(
      sluice::guest::dnn::find_algorithm(handle, {x, filter, window, y}, room, count, found));
}
SLUICE_GUEST_DNN_EXPORT int cudnnGetConvolutionForwardWorkspaceSize(
    void* handle, const void* x, const void* filter, const void* window, const void* y,
    int /*algorithm*/, std::size_t* bytes) {
  int count = 0;
  Performance found = {};
  const int status =
      cudnnGetConvolutionForwardAlgorithm_v7(handle, x, filter, window, y, 1, &count, &found);
  if (status != 0) return status;
  return static_cast<int>(sluice::guest::dnn::give(found.workspace_bytes, bytes));
}
SLUICE_GUEST_DNN_EXPORT int cudnnConvolutionForward(
    void* handle, const float* alpha, const void* x, const void* x_data, const void* filter,
    const void* weights, const void* window, int /*algorithm*/, void* /*workspace*/,
    std::size_t /*workspace_bytes*/, const float* beta, const void* y, void* y_data) {
  if (alpha == nullptr || beta == nullptr) return static_cast<int>(Status::kBadParameter);
  Convolution of = sluice::guest::dnn::described({x, filter, window, y});
  of.x.data = x_data;
  of.weights = weights;
  of.y.data = of.z.data = y_data;
  of.alpha = *alpha;
  of.beta = *beta;
  return static_cast<int>(sluice::guest::dnn::convolve_by(handle, of));
}
SLUICE_GUEST_DNN_EXPORT int cudnnConvolutionBiasActivationForward(
    void* handle, const float* alpha, const void* x, const void* x_data, const void* filter,
    const void* weights, const void* window, int /*algorithm*/, void* /*workspace*/,
    std::size_t /*workspace_bytes*/, const float* beta, const void* z, const void* z_data,
    const void* bias, const void* bias_data, const void* activation, const void* y, void* y_data) {
  const auto* const kind = static_cast<const ActivationKind*>(activation);
  if (alpha == nullptr || beta == nullptr || bias == nullptr || kind == nullptr) {
    return static_cast<int>(Status::kBadParameter);
  }
  const auto mode = static_cast<ActivationMode>(kind->mode);
  if (mode != ActivationMode::kRelu && mode != ActivationMode::kIdentity) {
    return static_cast<int>(refuse("cudnnActivationMode_t " + std::to_string(kind->mode)));
  }
  Convolution of = sluice::guest::dnn::described({x, filter, window, y});
  of.x.data = x_data;
  of.weights = weights;
  of.z = {static_cast<const Tensor*>(z), z_data};
  of.bias = static_cast<const Tensor*>(bias);
  of.bias_data = bias_data;
  of.y.data = y_data;
  of.alpha = *alpha;
  of.beta = *beta;
  if (mode == ActivationMode::kRelu) of.activation = sluice::guest::blas::Activation::kRelu;
  return static_cast<int>(sluice::guest::dnn::convolve_by(handle, of));
}
