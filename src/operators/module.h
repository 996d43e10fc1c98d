// Modules of operators: shared libraries that packages carry, for the host's processors.
//
// A process runs code of a package only if it was told the code's digest before.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "package/executable.h"

namespace sluice::operators {

// Metadata of a package that carries a module; docs/api.md has the values.
inline constexpr const char* kModuleFact = "operator_module";
inline constexpr const char* kModuleDigestFact = "operator_module_sha256";
/// Its name among the files of the package.
inline constexpr const char* kModuleFile = "operators.so";

/// A module whose operators this process has, for a package to carry.
struct Module {
  std::string name;    ///< of its file
  std::string sha256;  ///< sha256_of the data
  Bytes data;
};

/// Reads and opens a module that the caller trusts, and registers its operators. Safe from any
/// thread.
/// Fails: as map_file; kInvalidArgument for a file that is no shared library, exports no
///        SLUICE_OPERATOR_MODULE_ENTRY, or has an operator that is not allowed; kAlreadyExists for
///        an operator that the process has.
Result<Module> open_module(const std::filesystem::path& path);

/// Lets this process open the module with this digest from now on. Safe from any thread.
/// Fails: kInvalidArgument for a text that is no digest; kResourceExhausted for too many.
Status allow_module(std::string_view sha256);

/// Opens the module of a package that carries one, unless this process has opened it, and registers
/// its operators. Safe from any thread.
/// Fails: kPermissionDenied for a module that was not allowed; kDataLoss for one that is missing
///        or has another digest than the package says; as `open_module`.
Status open_module_of(const package::Executable& executable);

}  // namespace sluice::operators
