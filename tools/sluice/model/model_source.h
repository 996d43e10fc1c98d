// What a command line names as a model: a `.sluice` file, or another that is compiled into a cache.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "backend/registry.h"
#include "base/bytes.h"
#include "options/compile_flags.h"
#include "options/shapes.h"
#include "package/executable.h"
#include "sluice/cli/options.h"

namespace sluice::tool {

using options::parse_shapes;

/// Options that every command with a model shares, and where the model is.
struct ModelOptions : options::CompileFlags {
  std::string path;
  std::vector<std::string> allowed_operators;  ///< SHA-256 of modules that a package may carry

  /// `what`: the help's words for the model.
  void add_to(Options& options,
              const char* what = "An ONNX file, or a .sluice file made by `sluice compile`");
  /// Declares --allow-operators, of commands that run packages; `open_model` allows them.
  void add_allowed(Options& options);
};

/// The plug-ins of this process, found once.
const backend::BackendRegistry& backend_registry();

/// Hears the name of each phase of a compilation as it starts; may be empty.
using Progress = std::function<void(std::string_view)>;

/// Reads a package, or compiles once; which, the contents decide.
Result<package::Executable> open_model(const ModelOptions& options, const Progress& progress = {});

/// Whether the file begins as a package.
bool is_package(const Bytes& file);

/// tokenizer.json and the other files of text that the metadata of a GGUF file stand for, by name.
/// Fails: as recipes::gguf_text_files; kUnimplemented for a build without the compiler.
Result<std::map<std::string, Bytes>> read_gguf_text(const Bytes& file);

/// Prints what import found wrong with the model at `path` and took all the same.
void print_warnings(const std::string& path, const ir::Graph& graph);

/// Imports and compiles a model.
Result<package::Executable> compile_model(const ModelOptions& options, const Progress& progress);

/// As `compile_model`, but reads the package of an earlier call from the cache (compile_cache.h).
/// Reports on stderr when it adds a package to the cache.
Result<package::Executable> compile_once(const ModelOptions& options, const Progress& progress);

/// The same; the package's place in the cache. Fails: as compile_once; kUnavailable without a
/// folder for the cache.
Result<std::filesystem::path> compile_into_cache(const ModelOptions& options);

}  // namespace sluice::tool
