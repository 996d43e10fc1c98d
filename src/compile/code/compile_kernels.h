// The model compiler for devices with a compiler of their own: a package gets the code of its
// kernels.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "exec/loaded_model.h"
#include "package/executable.h"

namespace sluice::compile {

struct CodeOptions {
  /// Besides the portable target of each backend: "sm_80".
  std::vector<std::string> targets;
  /// A folder of `write_code_files` whose sources, edited or not, take the place of generated ones;
  /// empty: none.
  std::filesystem::path edited;
};

/// Compiles the kernels of `model`, those of equal code once. Operations whose shapes only a run
/// knows have no kernel there: a load compiles them.
/// Fails: kInvalidArgument for targets that no backend in use takes, and with a compiler's words;
///        kUnavailable without a compiler; kNotFound if the folder `edited` is missing.
Result<std::vector<package::OperationCode>> compile_kernels(const exec::LoadedModel& model,
                                                            const CodeOptions& options);

/// The name of a kernel in files: "Conv_0123456789abcdef".
std::string code_name(const ir::Operation& operation, const ir::KernelCode& code);

/// The backend that compiles for `name` where that one has no device, such as cuda-emulated for
/// cuda; `name` itself if it has devices, or if there is no other.
std::string find_stand_in(const std::string& name, const backend::BackendRegistry& registry);

}  // namespace sluice::compile
