// The extension sluice.kernel_code/1 over NVRTC.
#pragma once

#include "sluice/extensions/kernel_code.h"

namespace sluice::cuda {

/// Kernel codes of devices, and of emulated devices, which compile for `cuda` too. They live as
/// long as the library.
extern const sluice_kernel_codes kKernelCodes;
extern const sluice_kernel_codes kEmulatedKernelCodes;

}  // namespace sluice::cuda
