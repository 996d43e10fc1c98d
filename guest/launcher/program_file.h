// Whether a program can be a guest, as its file says.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace sluice::guest {

/// A program that links the CUDA runtime statically, which is nvcc's default, calls the driver by
/// private tables and never comes to the guest library. Files other than 64-bit ELF pass: scripts
/// start programs.
///
/// Format: ELF-64, little-endian; System V ABI, "Object Files" and "Dynamic Linking".
/// Fails: kFailedPrecondition  device code, and no libcudart.so.13 among the needed libraries; or a
///                             needed library that opens the driver itself, such as libcufft.so.12
///        kInvalidArgument     a damaged ELF file
Status check_program(std::span<const std::byte> file);

}  // namespace sluice::guest
