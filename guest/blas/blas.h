// What the libraries in place of cuBLAS and cuBLASLt share: numbers of their C interfaces, handles,
// and products of matrices.
//
// Written from NVIDIA's public documentation of cuBLAS 13; abi_test.cc compares the numbers with
// the vendor's header where a toolkit is installed. Functions that are not here are missing in the
// libraries, and the dynamic linker names them.
#pragma once

#include <cstdint>
#include <string>

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

/// What a program holds as cublasHandle_t or cublasLtHandle_t: programs use the first as the
/// second. As in cuBLAS, one thread at a time uses a handle. cuBLASLt reads nothing of it.
struct Handle {
  void* stream = nullptr;
  int math_mode = 0;
  PointerMode pointer_mode = PointerMode::kHost;
};

/// Matrices lie column by column, unless by rows.
struct Matrix {
  const void* data = nullptr;
  Element element = Element::kF32;
  std::int64_t leading = 0;  ///< elements from a column, or row, to the next
  std::int64_t stride = 0;   ///< elements from a matrix of a batch to the next
  bool is_by_rows = false;
};

/// The last step for each element of a result. kGelu goes by the hyperbolic tangent.
enum class Activation : std::uint32_t { kNone = 0, kRelu = 1, kGelu = 2 };

/// d = activation(alpha * op(a) * op(b) + beta * c + bias), `batch` times.
struct Product {
  Transpose turns_a = Transpose::kNo;
  Transpose turns_b = Transpose::kNo;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  float alpha = 1, beta = 0;
  Matrix a, b, c, d;           ///< c and d may be the same matrix
  const void* bias = nullptr;  ///< an element of d's type for each row of d; null: zeros
  Activation activation = Activation::kNone;
};

/// Whether a kernel computes the product. Reads no addresses.
/// Fails: kInvalidValue for sizes that are wrong, kNotSupported for elements that no kernel takes.
Result check(const Product& product);

/// Launches the product on the stream. The device reads no `c` if `beta` is 0.
/// Fails: as check; kExecutionFailed where the launch fails.
Result multiply(void* stream, const Product& product);

/// Whether a cublasComputeType_t is one of Compute.
bool sums_in_f32(int compute);

/// Creates a Handle, for its creator to delete.
/// Fails: kInvalidValue for null, kNotInitialized without a device, kAllocationFailed.
Result create_handle(void** handle);

/// Says on stderr, once for each `what` of at most 64, that the libraries lack it: the name and
/// value of an argument, such as "CUBLASLT_MATMUL_DESC_FILL_MODE 1". Returns kNotSupported. Safe
/// across threads.
Result refuse(const std::string& what);

/// "CUBLAS_STATUS_SUCCESS", and what it means. Both have an answer for every number.
const char* name_of(int result);
const char* meaning_of(int result);

}  // namespace sluice::guest::blas

/// Stands before the functions that programs call; their names and parameters are the vendor's.
#define SLUICE_GUEST_BLAS_EXPORT extern "C" __attribute__((visibility("default")))
