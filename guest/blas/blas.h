// The part of cuBLAS's C interface that this library offers: handles, and products of matrices.
//
// Written from NVIDIA's public documentation of cuBLAS 13; abi_test.cc compares the numbers with
// the vendor's header where a toolkit is installed. Functions of cuBLAS that are not here are
// missing in the library, and the dynamic linker names them.
#pragma once

#include <cstdint>

namespace sluice::guest::blas {

enum class Result : int {
  kSuccess = 0,
  kNotInitialized = 1,
  kAllocationFailed = 3,
  kInvalidValue = 7,
  kExecutionFailed = 13,
  kInternalError = 14,
  kNotSupported = 15
};

enum class Transpose : int { kNo = 0, kYes = 1, kConjugate = 2 };

enum class Element : int { kF32 = 0, kF16 = 2, kBf16 = 14 };

/// Sums of f32. Its factors are never rounded here, whatever a call allows.
enum class Compute : int {
  kF32 = 68,
  kPedanticF32 = 69,
  kF32ByF16 = 74,
  kF32ByBf16 = 75,
  kF32ByTf32 = 77
};

enum class PointerMode : int { kHost = 0, kDevice = 1 };

inline constexpr int kVersion = 130000;

/// What a program holds as cublasHandle_t. As in cuBLAS, one thread at a time uses a handle.
struct Handle {
  void* stream = nullptr;
  int math_mode = 0;
  PointerMode pointer_mode = PointerMode::kHost;
};

/// Matrices lie column by column.
struct Matrix {
  const void* data = nullptr;
  Element element = Element::kF32;
  std::int64_t leading = 0;  ///< elements from a column to the next
  std::int64_t stride = 0;   ///< elements from a matrix of a batch to the next
};

/// c = alpha * op(a) * op(b) + beta * c, `batch` times.
struct Product {
  Transpose turns_a = Transpose::kNo;
  Transpose turns_b = Transpose::kNo;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  float alpha = 1, beta = 0;
  Matrix a, b, c;
};

/// Launches the product on the handle's stream. The device reads no `c` if `beta` is 0.
/// Fails: kInvalidValue for sizes that are wrong, kNotSupported for elements that no kernel takes;
///        kExecutionFailed where the launch fails.
Result multiply(const Handle& handle, const Product& product);

}  // namespace sluice::guest::blas

/// Stands before the functions that programs call; their names and parameters are the vendor's.
#define SLUICE_GUEST_BLAS_EXPORT extern "C" __attribute__((visibility("default")))
