// Kernels compiled ahead of time, through the extension "sluice.kernel_code/1".
#pragma once

#include <optional>
#include <span>
#include <string>

#include "backend/kernel.h"
#include "ir/code/kernel_code.h"

namespace sluice::backend {

/// Compiles the kernel for the backend's portable target and for `targets`, from `source` if that
/// is given. Nullopt if the backend lacks the extension or the kernel has no code. Fails: as the
/// plug-in says; kInternal for code that contradicts itself.
Result<std::optional<ir::KernelCode>> compile_code(const Kernel& kernel,
                                                   const std::optional<std::string>& source,
                                                   std::span<const std::string> targets);

}  // namespace sluice::backend
