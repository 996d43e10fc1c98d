// Conv through cuDNN's graphs.
#pragma once

#include "plugin/libraries/cudnn.h"
#include "plugin/libraries/epilogue.h"
#include "plugin/libraries/library_call.h"

namespace sluice::cuda {

/// What cuDNN needs to plan for one device. Outlives its calls.
struct DnnDevice {
  const Cudnn* table = nullptr;
  DnnHandle handle = nullptr;          ///< of the device
  DnnDescriptor properties = nullptr;  ///< instead: of a device that is described
  bool rounds_to_tf32 = false;
};

/// Plans `op`, a Conv. `epilogue` gets what of its body the call computes. Sums are of f32. Factors
/// of f32 stay whole unless `rounds_to_tf32`. Engines that sum in another order each time, or
/// change the arithmetic (Winograd, Fourier), are not taken.
/// Requires: check_op was ok; every dimension is known; the device's context is current; no other
///           thread plans with this device.
/// Fails: UNIMPLEMENTED  cuDNN has no such convolution
///        or as the library
Status plan_convolution(const DnnDevice& device, const sluice_op& op, Epilogue* epilogue,
                        std::unique_ptr<const LibraryCall>* call);

}  // namespace sluice::cuda
