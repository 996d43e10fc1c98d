// Kernels that a library brings, which the program registers and launches as if they were its own.
#pragma once

#include <span>
#include <string>

#include "guest/runtime/abi.h"

namespace sluice::guest::blas {

/// Registers the kernels of a fat binary; each goes by the address of its name. The binary and the
/// names live until the process ends.
void register_own(const std::string& fatbin, std::span<const char* const> names);

/// Launches a registered kernel; `arguments` are the places of its parameters. False: the runtime
/// refused, and its error is taken.
bool launch_own(const char* kernel, Dim3 grid, Dim3 block, std::span<void*> arguments,
                void* stream);

}  // namespace sluice::guest::blas
