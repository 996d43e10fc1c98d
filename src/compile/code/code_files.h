// The compiled kernels of a package as files for people.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "package/executable.h"

namespace sluice::compile {

/// Writes the kernels that `backend` runs to the folder: `NAME.cu`, the source; `NAME.ptx`,
/// `NAME.compute_80.ptx` and `NAME.sm_80.cubin`, its code; and `schedule.json`, which lists
/// storage, kernels with launch dimensions, and which operation calls which kernel with which
/// tensors (docs/cuda.md). Fails: kInvalidArgument if `backend` has no compiled kernel in the
/// package; what writing reports.
Status write_code_files(const package::Executable& executable, std::string_view backend,
                        const std::filesystem::path& folder);

/// The file of a kernel's code for a target: "compute_75" is a virtual architecture, whose code is
/// text.
std::string image_file_name(const std::string& kernel, const std::string& target);

}  // namespace sluice::compile
