// From a model's files and the options of a command line to an executable.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/registry.h"
#include "base/result.h"
#include "ir/graph.h"
#include "options/compile_flags.h"
#include "package/draft.h"
#include "package/executable.h"

namespace sluice::compiler {

/// Where a model comes from: an ONNX or GGUF file, a folder of Hugging Face's hub, the bytes of an
/// ONNX file, which are borrowed for the call, or a trace.
struct Source {
  std::filesystem::path path = {};  ///< empty: `bytes` are the model
  std::span<const std::byte> bytes = {};
  std::filesystem::path folder = {};    ///< of external data of `bytes`; empty: refused
  std::optional<ir::Graph> graph = {};  ///< of a trace; set: the model
};

/// What becomes of a compilation.
struct Outcome {
  /// Takes the executable while it is compiled; the caller finishes it. The files of the model must
  /// not change until then. Null: the executable stays in memory.
  package::Draft* draft = nullptr;
  std::map<std::string, std::string> facts = {};  ///< metadata of the executable
  /// Hears the name of each phase as it starts; may be empty.
  std::function<void(std::string_view)> progress = {};
};

/// Imports and compiles.
/// Fails: kInvalidArgument for a damaged model or options that do not fit it; kNotFound for a file
///        or backend; kUnimplemented naming all operators that cannot be compiled.
Result<package::Executable> compile_model(const Source& source, const options::CompileFlags& flags,
                                          const backend::BackendRegistry& backends,
                                          Outcome outcome);

/// A model under a name by which edges mean it.
struct NamedSource {
  std::string name;
  Source source;
};

struct Links {
  std::vector<std::string> edges;  ///< "encoder.y=decoder.x"
  std::vector<std::string> kept;   ///< "encoder.y": outputs of the whole in spite of an edge
};

/// Imports the models, links them (compile/link/link_graphs.h) and compiles the whole, with a
/// segment for each model. In `flags.shapes` inputs are called as in the result: "encoder.x=1,3".
/// Fails: as `compile_model`; kInvalidArgument for links that do not fit the models.
Result<package::Executable> compile_linked(std::span<const NamedSource> sources, const Links& links,
                                           const options::CompileFlags& flags,
                                           const backend::BackendRegistry& backends,
                                           Outcome outcome);

}  // namespace sluice::compiler
