// PTX text as device code of the emulator.
#pragma once

#include "emulator/machine/code.h"

namespace sluice::cuda::emulator {

/// Parses `image`. Variables of the module lie in host memory that every device reaches: what two
/// devices write there, both see, unlike on a GPU.
/// Fails: kInvalidPtx, kNotSupported for an instruction that the interpreter lacks
Fault load_ptx(const char* image, AddressSpace& memory, std::shared_ptr<const DeviceCode>* code);

}  // namespace sluice::cuda::emulator
