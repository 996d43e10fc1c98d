// The constants that launches read, as a .safetensors file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "compile/code/torch/launch_plan.h"

namespace sluice::compile {

/// Where the constants of a plan lie, in its order.
struct ConstantsFile {
  struct Entry {
    std::string name;  ///< unique
    std::int64_t bytes = 0;
    std::int64_t file_offset = 0;
    std::int64_t memory_offset = 0;  ///< on a device, a multiple of kLaunchAlignment
  };
  std::vector<Entry> entries;
  std::int64_t memory_bytes = 0;
};

/// Writes the file. Elements that .safetensors has no name for are bytes of one dimension.
/// Fails: as writing does
Result<ConstantsFile> write_constants(const std::filesystem::path& path,
                                      const package::Executable& executable,
                                      const LaunchPlan& plan);

}  // namespace sluice::compile
