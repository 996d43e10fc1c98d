// The part of cuDNN's C interface that this library offers: convolutions forward, with an addend, a
// bias and an activation.
//
// Written from NVIDIA's public documentation of cuDNN 9; abi_test.cc compares the numbers with the
// vendor's header where a toolkit is installed. Functions keep the vendor's names and parameters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "guest/blas/blas.h"

namespace sluice::guest::dnn {

enum class Status : int {
  kSuccess = 0,
  kNotInitialized = 1001,
  kBadParameter = 2000,
  kNotSupported = 3000,
  kAllocationFailed = 4003,
  kExecutionFailed = 5000
};

enum class Type : int { kF32 = 0, kF16 = 2, kBf16 = 9 };
enum class Format : int { kNchw = 0, kNhwc = 1 };
enum class Mode : int { kConvolution = 0, kCrossCorrelation = 1 };
enum class ActivationMode : int { kRelu = 1, kIdentity = 5 };

inline constexpr std::size_t kVersion = 91900;
inline constexpr int kMaxRank = 8;
inline constexpr int kDeterministic = 1;

using Sizes = std::array<std::int32_t, kMaxRank>;

/// cudnnTensorDescriptor_t: steps are of elements.
struct Tensor {
  int type = 0;
  int rank = 0;
  Sizes sizes = {};
  Sizes steps = {};
};

/// cudnnFilterDescriptor_t: output channels, input channels of a group, then the window.
struct Filter {
  int type = 0;
  int format = 0;
  int rank = 0;
  Sizes sizes = {};
};

/// cudnnConvolutionDescriptor_t
struct Window {
  int rank = 0;  ///< of the window
  Sizes pads = {};
  Sizes strides = {};
  Sizes dilations = {};
  int mode = 0;
  int compute = 0;
  int math = 0;
  int groups = 1;
};

/// cudnnActivationDescriptor_t
struct ActivationKind {
  int mode = 0;
  int nan = 0;
  double coefficient = 0;
};

/// What a program holds as cudnnHandle_t. One thread at a time uses it.
struct Handle {
  void* stream = nullptr;
};

/// cudnnConvolutionFwdAlgoPerf_t
struct Performance {
  int algorithm;
  int status;
  float milliseconds;
  std::size_t workspace_bytes;
  int determinism;
  int math;
  int reserved[3];
};

/// A tensor and where it lies on the device.
struct Placed {
  const Tensor* tensor = nullptr;
  const void* data = nullptr;
};

/// y = activation(alpha * (x convolved with the filter) + beta * z + bias).
struct Convolution {
  Placed x, y, z;  ///< z may be y
  const Filter* filter = nullptr;
  const void* weights = nullptr;
  const Window* window = nullptr;
  const Tensor* bias = nullptr;  ///< null: zeros
  const void* bias_data = nullptr;
  float alpha = 1, beta = 0;
  blas::Activation activation = blas::Activation::kNone;
};

/// An output's size along an axis of the window; none where the window does not fit.
std::optional<std::int64_t> output_size(std::int64_t input, std::int64_t filter,
                                        const Window& window, int axis);

/// Whether the kernel computes the convolution. Reads no addresses.
/// Fails: kBadParameter for sizes that are wrong, kNotSupported, which stderr names.
Status check(const Convolution& of);

/// Launches it on the stream. The device reads no `z` if `beta` is 0.
/// Fails: as check; kExecutionFailed where the launch fails.
Status convolve(void* stream, const Convolution& of);

/// As blas::refuse.
inline Status refuse(const std::string& what) {
  blas::refuse(what);
  return Status::kNotSupported;
}

template <typename T>
Status give(const T& value, T* to) {
  if (to == nullptr) return Status::kBadParameter;
  *to = value;
  return Status::kSuccess;
}

}  // namespace sluice::guest::dnn

/// Stands before the functions that programs call.
#define SLUICE_GUEST_DNN_EXPORT extern "C" __attribute__((visibility("default")))
