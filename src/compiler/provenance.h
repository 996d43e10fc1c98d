// Metadata about the origin of a package: how a compilation makes it.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "compiler/compile_model.h"
#include "ir/graph.h"
#include "options/compile_flags.h"

namespace sluice::compiler {

/// Adds "name" and "digest" to the metadata of a graph that was imported from `source`. Equal bytes
/// of an ONNX model give equal facts, whatever file they lie in.
///
/// "name": an ONNX model has the name of its graph, a GGUF file its file name without the ending,
/// a folder the folder's name. Absent for a trace, and where the name cannot be printed.
/// "digest": "xxh3:" and the XXH3-64 of the file in 16 hexadecimal digits, as `xxhsum -H3` prints
/// it. A folder has the digest of its files one after another. External data does not count. Absent
/// for a trace.
/// Fails: as map_file.
Status add_source_facts(const Source& source, ir::Graph& graph);

/// "compiler": "sluice 0.1.0". "options": the words of a command line that changes the package,
/// such as "--backend cpu --weights bf16". FILE or FOLDER stands for a path: no path is a fact.
std::map<std::string, std::string> compilation_facts(const options::CompileFlags& flags);

}  // namespace sluice::compiler
