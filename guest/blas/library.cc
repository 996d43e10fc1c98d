// Handles, statuses and refusals of both libraries.
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <new>
#include <set>

#include "guest/blas/blas.h"

extern "C" int cudaGetDeviceCount(int* count);

namespace sluice::guest::blas {

Result create_handle(void** handle) {
  if (handle == nullptr) return Result::kInvalidValue;
  int count = 0;
  if (cudaGetDeviceCount(&count) != 0 || count == 0) return Result::kNotInitialized;
  *handle = new (std::nothrow) Handle;
  return *handle != nullptr ? Result::kSuccess : Result::kAllocationFailed;
}

Result refuse(const std::string& what) {
  constexpr std::size_t kMaxSaid = 64;
  static std::mutex mutex;
  static auto* const said = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  if (said->size() < kMaxSaid && said->insert(what).second) {
    std::fprintf(stderr, "sluice guest: its libraries do not support %s\n", what.c_str());
  }
  return Result::kNotSupported;
}

const char* name_of(int result) {
  switch (static_cast<Result>(result)) {
    case Result::kSuccess: return "CUBLAS_STATUS_SUCCESS";
    case Result::kNotInitialized: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case Result::kAllocationFailed: return "CUBLAS_STATUS_ALLOC_FAILED";
    case Result::kInvalidValue: return "CUBLAS_STATUS_INVALID_VALUE";
    case Result::kExecutionFailed: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case Result::kInternalError: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case Result::kNotSupported: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "unknown cuBLAS status";
}

const char* meaning_of(int result) {
  switch (static_cast<Result>(result)) {
    case Result::kSuccess: return "no error";
    case Result::kNotInitialized: return "there is no handle, or no device";
    case Result::kAllocationFailed: return "too little memory";
    case Result::kInvalidValue: return "an argument is wrong";
    case Result::kExecutionFailed: return "the kernel of a product was not launched";
    case Result::kInternalError: return "an internal error";
    case Result::kNotSupported: return "the guest library does not support this";
  }
  return "unknown cuBLAS status";
}

}  // namespace sluice::guest::blas
