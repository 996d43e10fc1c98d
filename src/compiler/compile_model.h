// From an ONNX file and the options of a command line to an executable.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include "backend/registry.h"
#include "base/result.h"
#include "options/compile_flags.h"
#include "package/executable.h"

namespace sluice::compiler {

/// Where an ONNX model comes from: a file, or bytes that are borrowed for the call.
struct Source {
  std::filesystem::path path = {};  ///< empty: `bytes` are the model
  std::span<const std::byte> bytes = {};
  std::filesystem::path folder = {};  ///< of external data of `bytes`; empty: refused
};

/// Imports and compiles. `progress` hears the name of each phase as it starts; it may be empty.
/// Fails: kInvalidArgument for a damaged model or options that do not fit it; kNotFound for a file
///        or backend; kUnimplemented naming all operators that cannot be compiled.
Result<package::Executable> compile_model(const Source& source, const options::CompileFlags& flags,
                                          const backend::BackendRegistry& backends,
                                          std::function<void(std::string_view)> progress);

}  // namespace sluice::compiler
