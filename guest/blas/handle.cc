// Handles of cuBLAS: a stream, and modes that change nothing about sums of f32.
#include <cstddef>

#include "guest/blas/blas.h"

namespace sluice::guest::blas {
namespace {

/// Calls `use` with the handle. Fails: kNotInitialized for null.
template <typename Use>
int with(void* handle, const Use& use) {
  if (handle == nullptr) return static_cast<int>(Result::kNotInitialized);
  return static_cast<int>(use(*static_cast<Handle*>(handle)));
}

template <typename T>
Result give(const T& value, T* to) {
  if (to == nullptr) return Result::kInvalidValue;
  *to = value;
  return Result::kSuccess;
}

}  // namespace
}  // namespace sluice::guest::blas

using sluice::guest::blas::Handle;
using sluice::guest::blas::PointerMode;
using sluice::guest::blas::Result;

SLUICE_GUEST_BLAS_EXPORT int cublasCreate_v2(void** handle) {
  return static_cast<int>(sluice::guest::blas::create_handle(handle));
}
SLUICE_GUEST_BLAS_EXPORT int cublasDestroy_v2(void* handle) {
  return sluice::guest::blas::with(handle, [](Handle& one) {
    delete &one;
    return Result::kSuccess;
  });
}
SLUICE_GUEST_BLAS_EXPORT int cublasGetVersion_v2(void* handle, int* version) {
  return sluice::guest::blas::with(handle, [version](Handle& /*one*/) {
    return sluice::guest::blas::give(sluice::guest::blas::kVersion, version);
  });
}
SLUICE_GUEST_BLAS_EXPORT int cublasSetStream_v2(void* handle, void* stream) {
  return sluice::guest::blas::with(handle, [stream](Handle& one) {
    one.stream = stream;
    return Result::kSuccess;
  });
}
SLUICE_GUEST_BLAS_EXPORT int cublasGetStream_v2(void* handle, void** stream) {
  return sluice::guest::blas::with(
      handle, [stream](Handle& one) { return sluice::guest::blas::give(one.stream, stream); });
}
/// Products need none.
SLUICE_GUEST_BLAS_EXPORT int cublasSetWorkspace_v2(void* handle, void* /*memory*/,
                                                   std::size_t /*bytes*/) {
  return sluice::guest::blas::with(handle, [](Handle& /*one*/) { return Result::kSuccess; });
}
SLUICE_GUEST_BLAS_EXPORT int cublasSetMathMode(void* handle, int mode) {
  return sluice::guest::blas::with(handle, [mode](Handle& one) {
    one.math_mode = mode;
    return Result::kSuccess;
  });
}
SLUICE_GUEST_BLAS_EXPORT int cublasGetMathMode(void* handle, int* mode) {
  return sluice::guest::blas::with(
      handle, [mode](Handle& one) { return sluice::guest::blas::give(one.math_mode, mode); });
}
SLUICE_GUEST_BLAS_EXPORT int cublasSetPointerMode_v2(void* handle, int mode) {
  return sluice::guest::blas::with(handle, [mode](Handle& one) {
    if (mode != 0 && mode != 1) return Result::kInvalidValue;
    one.pointer_mode = static_cast<PointerMode>(mode);
    return Result::kSuccess;
  });
}
SLUICE_GUEST_BLAS_EXPORT int cublasGetPointerMode_v2(void* handle, int* mode) {
  return sluice::guest::blas::with(handle, [mode](Handle& one) {
    return sluice::guest::blas::give(static_cast<int>(one.pointer_mode), mode);
  });
}
SLUICE_GUEST_BLAS_EXPORT const char* cublasGetStatusName(int status) {
  return sluice::guest::blas::name_of(status);
}
SLUICE_GUEST_BLAS_EXPORT const char* cublasGetStatusString(int status) {
  return sluice::guest::blas::meaning_of(status);
}
