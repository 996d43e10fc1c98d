// Imports an ONNX file as a graph.
//
// The graph has normalized operations (see ops/schema.h) in execution order with inferred types.
// `Constant` nodes and initializers became constants; those that callers may override (IR 4 and
// later) are inputs with a default, behind all others (sluice::InputOrDefault). Model-local
// functions are inlined. A control-flow operation passes what its bodies capture as extra last
// inputs, counted by its attribute "captures"; every body has them as its last inputs, even if it
// does not read them. Captured constants are shared instead.
//
// Metadata: "producer", "ir_version", "onnx_opset" (of the default domain), "opset.<domain>",
// "batch_symbol" (the symbol that leads the inputs' shapes, if one does), "columns.<name>" (the
// keys of an input or output that is a map in the file: maps.h), "fixed_inputs" (initializers that
// are inputs of the file and constants here: ir/fixed_inputs.h); as the file says them: "doc",
// "domain", "model_version", and "metadata.<key>" for each of its metadata_props.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"

namespace sluice::onnx {

struct ImportOptions {
  /// Fixed dimensions by input name, or one number by the name of a dimension of an input, where no
  /// input is called so. A symbol that this binds is bound in every type of the model.
  std::map<std::string, std::vector<std::int64_t>> shapes;
  /// Large weights in floats or bytes stay in the mapped model file, at addresses that their type
  /// may not be aligned to. The file must not change while the graph lives.
  bool keep_mapped = false;
  /// Initializers that stay inputs, with the initializer as default: names, or "all", "none" or
  /// "auto" alone. See overridable.h.
  std::vector<std::string> overridable = {"auto"};
};

/// Reads `path` and the external data files it names. They lie in the folder of `path`, or in that
/// of the file that `path` is a link to; a link to a file elsewhere is refused.
///
/// The file is mapped and weights are copied once, unless `keep_mapped` says otherwise; external
/// data is mapped and not copied. What the file gets wrong and other runtimes accept is in
/// `metadata["warnings"]`: stale declared shapes, an operator set that is not imported,
/// LayerNormalization before opset 17.
/// Fails: kUnimplemented    names every unsupported operator with some of its nodes, and what else
///                          is wrong with single nodes
///        kInvalidArgument  the file, or an option, is wrong; the message names the culprits
///        kNotFound, kPermissionDenied  a file cannot be read
Result<ir::Graph> import_model(const std::filesystem::path& path,
                               const ImportOptions& options = {});

/// As above from memory, borrowed for the call. External data is looked for in `folder` and refused
/// if that is empty.
Result<ir::Graph> import_model_bytes(std::span<const std::byte> model,
                                     const std::filesystem::path& folder,
                                     const ImportOptions& options = {});

}  // namespace sluice::onnx
