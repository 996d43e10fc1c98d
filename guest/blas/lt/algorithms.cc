// Programs that configure algorithms themselves: there is one algorithm, without a configuration.
#include <cstddef>

#include "guest/blas/lt/lt.h"

namespace blas = sluice::guest::blas;

SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmulAlgoInit(void* /*handle*/, int /*compute*/,
                                                    int /*scale*/, int /*a*/, int /*b*/, int /*c*/,
                                                    int /*d*/, int /*id*/,
                                                    blas::Algorithm* /*algorithm*/) {
  return static_cast<int>(blas::refuse("cublasLtMatmulAlgoInit"));
}
SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmulAlgoCheck(void* /*handle*/, const void* /*operation*/,
                                                     const void* /*a*/, const void* /*b*/,
                                                     const void* /*c*/, const void* /*d*/,
                                                     const blas::Algorithm* /*algorithm*/,
                                                     blas::Heuristic* /*result*/) {
  return static_cast<int>(blas::refuse("cublasLtMatmulAlgoCheck"));
}
SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmulAlgoConfigSetAttribute(blas::Algorithm* /*algorithm*/,
                                                                  int /*attribute*/,
                                                                  const void* /*value*/,
                                                                  std::size_t /*bytes*/) {
  return static_cast<int>(blas::refuse("cublasLtMatmulAlgoConfigSetAttribute"));
}
SLUICE_GUEST_BLAS_EXPORT int cublasLtMatmulAlgoConfigGetAttribute(
    const blas::Algorithm* /*algorithm*/, int /*attribute*/, void* /*value*/, std::size_t /*bytes*/,
    std::size_t* /*size*/) {
  return static_cast<int>(blas::refuse("cublasLtMatmulAlgoConfigGetAttribute"));
}
