// A model as an extension of PyTorch that needs no Sluice to run.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "package/executable.h"

namespace sluice::compile {

/// Writes the folder: the kernels (write_code_files), `constants.safetensors`, C++ that registers
/// the network and its kernels as operators of torch, and `__init__.py`, which compiles and loads
/// it (docs/cuda.md). The operators are named after the folder. Fails: as plan_launches; what
/// writing reports
Status write_torch_files(const package::Executable& executable,
                         const std::filesystem::path& folder);

}  // namespace sluice::compile
