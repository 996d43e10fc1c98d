// Gemm and MatMul through cuBLASLt.
#pragma once

#include "plugin/libraries/cublaslt.h"
#include "plugin/libraries/epilogue.h"
#include "plugin/libraries/library_call.h"
#include "plugin/libraries/options.h"

namespace sluice::cuda {

/// What cuBLASLt needs on one device. Outlives its calls.
struct LtDevice {
  const CublasLt* table = nullptr;
  LtHandle handle = nullptr;
  bool rounds_to_tf32 = false;
};

/// Plans the product of `op`, a Gemm or a MatMul. `epilogue` gets what of its body the call
/// computes. Sums are of f32. Factors of f32 stay whole unless `rounds_to_tf32`.
/// Requires: check_op was ok; every dimension is known; the device's context is current.
/// Fails: UNIMPLEMENTED  cuBLASLt has no such product
///        or as the library
Status plan_product(const LtDevice& device, const sluice_op& op, Epilogue* epilogue,
                    std::unique_ptr<const LibraryCall>* call);

}  // namespace sluice::cuda
