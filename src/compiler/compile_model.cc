#include "compiler/compile_model.h"

#include <filesystem>
#include <utility>

#include "compile/code/code_files.h"
#include "compile/code/torch/torch_files.h"
#include "compile/compile.h"
#include "compile/link/link_graphs.h"
#include "compiler/graph_files.h"
#include "compiler/provenance.h"
#include "onnx/import.h"
#include "operators/module.h"
#include "options/shapes.h"
#include "recipes/recipe.h"

namespace sluice::compiler {
namespace {

compile::WeightPrecision precision_of(std::string_view weights) {
  // The flags were checked, so that what is left is f32.
  if (weights == "bf16") return compile::WeightPrecision::kBf16;
  if (weights == "int8") return compile::WeightPrecision::kInt8;
  return compile::WeightPrecision::kF32;
}

ir::ElementType cache_of(std::string_view kv_cache) {
  if (kv_cache == "f16") return ir::ElementType::kF16;
  if (kv_cache == "int8") return ir::ElementType::kI8;
  return ir::ElementType::kF32;
}

/// Weights of their own for a graph whose constants are slices of files.
void take_out_of_files(ir::Subgraph& subgraph) {
  for (std::size_t i = 0; i < subgraph.num_operands(); ++i) {
    std::optional<ir::Constant>& constant = subgraph.operand(ir::OperandId(i)).constant;
    if (constant) constant->data = MutableBytes::copy_of(constant->data.view()).freeze();
  }
}

Result<recipes::Model> import_by_recipe(const Source& source, const options::CompileFlags& flags,
                                        const Outcome& outcome) {
  if (!flags.shapes.empty())
    return invalid_argument("--shape is for ONNX files, not for language models");
  std::vector<recipes::AdapterSource> adapters;
  for (const std::string& text : flags.adapters) {
    adapters.push_back(SLUICE_TRY(recipes::AdapterSource::parse(text).with_context("--adapter")));
  }
  auto read = recipes::read_model(source.path, cache_of(flags.kv_cache), adapters);
  recipes::Model model = SLUICE_TRY(std::move(read).with_context(source.path.string()));
  if (outcome.draft == nullptr) take_out_of_files(model.graph.main());
  return model;
}

Result<ir::Graph> import_graph(const Source& source, const std::vector<std::string>& shapes,
                               const std::vector<std::string>& overridable,
                               const Outcome& outcome) {
  if (source.graph) {
    if (shapes.empty()) return *source.graph;
    // A recorded graph has the shapes that its program gave.
    return invalid_argument("--shape is for files; the inputs of a trace have their types");
  }
  // A draft takes weights as they come, so the import may leave them in their files.
  const onnx::ImportOptions importing = {SLUICE_TRY(options::parse_shapes(shapes)),
                                         outcome.draft != nullptr, overridable};
  if (!source.path.empty()) return onnx::import_model(source.path, importing);
  return onnx::import_model_bytes(source.bytes, source.folder, importing);
}

Result<recipes::Model> import(const Source& source, const options::CompileFlags& flags,
                              const Outcome& outcome) {
  recipes::Model model;
  if (!source.path.empty() && recipes::has_recipe(source.path)) {
    model = SLUICE_TRY(import_by_recipe(source, flags, outcome));
  } else if (flags.kv_cache != "f32" || !flags.adapters.empty()) {
    return invalid_argument("{} is for folders and GGUF files of language models",
                            flags.adapters.empty() ? "--kv-cache" : "--adapter");
  } else {
    model.graph = SLUICE_TRY(import_graph(source, flags.shapes, flags.overridable, outcome));
  }
  SLUICE_TRY(add_source_facts(source, model.graph));
  return model;
}

Result<compile::CompileOptions> options_of(const options::CompileFlags& flags, Outcome outcome) {
  compile::CompileOptions compiling;
  compiling.draft = outcome.draft;
  compiling.facts = std::move(outcome.facts);
  compiling.facts.merge(compilation_facts(flags));
  compiling.progress = std::move(outcome.progress);
  compiling.backends = flags.backends;
  compiling.places = flags.places;
  if (!flags.operator_times.empty()) {
    compiling.profile = std::make_shared<const compile::OperatorProfile>(SLUICE_TRY(
        compile::read_operator_profile(flags.operator_times).with_context("--operator-times")));
  }
  compiling.limits = {flags.min_segment, flags.max_segments, flags.min_share};
  compiling.optimize = flags.optimize;
  compiling.pack = flags.pack;
  compiling.packed_only = flags.packed_only;
  if (flags.packed_only && !flags.pack) {
    return invalid_argument("--packed-only and --no-pack leave no form of a constant");
  }
  compiling.cuts = flags.cuts;
  compiling.cores = flags.cores;
  compiling.executor = flags.executor;
  compiling.weights = precision_of(flags.weights);
  compiling.winograd = flags.winograd;
  compiling.strassen_levels = flags.strassen;
  compiling.code = {flags.architectures, flags.code};
  return compiling;
}

/// The compilation writes its graphs to the folder that `--graphs` names, starting with `imported`.
Status observe_graphs(const std::string& folder, const ir::Graph& imported,
                      compile::CompileOptions& compiling) {
  if (folder.empty()) return ok_status();
  auto created = SLUICE_TRY(GraphFiles::create(folder).with_context("--graphs"));
  // Shared with the callback, which outlives this function.
  SLUICE_TRY(created.write("import", imported).with_context("--graphs"));
  const auto files = std::make_shared<GraphFiles>(std::move(created));
  compiling.observe = [files](std::string_view pass, const ir::Graph& graph) {
    return files->write(pass, graph).with_context("--graphs");
  };
  return ok_status();
}

/// Compiles, and writes the kernels that `--emit` names.
Result<package::Executable> compile_and_emit(ir::Graph graph, const options::CompileFlags& flags,
                                             const backend::BackendRegistry& backends,
                                             const compile::CompileOptions& compiling) {
  const std::size_t equals = flags.emit.find('=');
  if (!flags.emit.empty() && (equals == std::string::npos || equals + 1 == flags.emit.size())) {
    return invalid_argument(
        "--emit is BACKEND=FOLDER, such as cuda=kernels, or torch-extension=FOLDER; got \"{}\"",
        flags.emit);
  }
  auto executable = SLUICE_TRY(compile::compile(std::move(graph), backends, compiling));
  if (flags.emit.empty()) return executable;
  const std::string_view what = std::string_view(flags.emit).substr(0, equals);
  const std::filesystem::path folder = flags.emit.substr(equals + 1);
  const Status written = what == "torch-extension"
                             ? compile::write_torch_files(executable, folder)
                             : compile::write_code_files(executable, what, folder);
  SLUICE_TRY(written.with_context("--emit"));
  return executable;
}

/// The module that `--operators` names, opened; before the import, which asks for its operators.
Result<std::optional<operators::Module>> open_module(const options::CompileFlags& flags,
                                                     Outcome& outcome) {
  std::optional<operators::Module> module;
  if (flags.operators.empty()) return module;
  module = SLUICE_TRY(operators::open_module(flags.operators).with_context("--operators"));
  outcome.facts.insert_or_assign(operators::kModuleFact, module->name);
  outcome.facts.insert_or_assign(operators::kModuleDigestFact, module->sha256);
  return module;
}

/// The files that the package carries: those of the model, and the module.
std::map<std::string, Bytes> with_module(std::map<std::string, Bytes> files,
                                         const std::optional<operators::Module>& module) {
  if (module) files.insert_or_assign(operators::kModuleFile, module->data);
  return files;
}

/// The shapes of a linked model's inputs, without its name.
std::vector<std::string> shapes_of(const std::string& model,
                                   const std::vector<std::string>& shapes) {
  std::vector<std::string> own;
  for (const std::string& shape : shapes) {
    if (shape.starts_with(model + ".")) own.push_back(shape.substr(model.size() + 1));
  }
  return own;
}

}  // namespace

Result<package::Executable> compile_model(const Source& source, const options::CompileFlags& flags,
                                          const backend::BackendRegistry& backends,
                                          Outcome outcome) {
  const auto module = SLUICE_TRY(open_module(flags, outcome));
  if (outcome.progress) outcome.progress("import");
  recipes::Model model = SLUICE_TRY(import(source, flags, outcome));
  compile::CompileOptions compiling = SLUICE_TRY(options_of(flags, std::move(outcome)));
  SLUICE_TRY(observe_graphs(flags.graphs, model.graph, compiling));
  auto executable =
      SLUICE_TRY(compile_and_emit(std::move(model.graph), flags, backends, compiling));
  executable.files = with_module(std::move(model.files), module);
  return executable;
}

Result<package::Executable> compile_linked(std::span<const NamedSource> sources, const Links& links,
                                           const options::CompileFlags& flags,
                                           const backend::BackendRegistry& backends,
                                           Outcome outcome) {
  compile::LinkRequest request;
  for (const std::string& edge : links.edges) {
    request.edges.push_back(SLUICE_TRY(compile::ModelEdge::parse(edge)));
  }
  for (const std::string& port : links.kept) {
    request.outputs.push_back(SLUICE_TRY(compile::ModelPort::parse(port)));
  }
  const auto module = SLUICE_TRY(open_module(flags, outcome));
  if (outcome.progress) outcome.progress("import");
  for (const NamedSource& named : sources) {
    // No overridable initializers: inputs of the whole are those of models without an edge.
    auto imported =
        import_graph(named.source, shapes_of(named.name, flags.shapes), {"none"}, outcome);
    ir::Graph graph = SLUICE_TRY(std::move(imported).with_context("model \"" + named.name + "\""));
    SLUICE_TRY(add_source_facts(named.source, graph));
    request.models.push_back({named.name, std::move(graph)});
  }
  compile::CompileOptions compiling = SLUICE_TRY(options_of(flags, std::move(outcome)));
  ir::Graph graph = SLUICE_TRY(compile::link_graphs(std::move(request)));
  SLUICE_TRY(observe_graphs(flags.graphs, graph, compiling));
  auto executable = SLUICE_TRY(compile_and_emit(std::move(graph), flags, backends, compiling));
  executable.files = with_module({}, module);
  return executable;
}

}  // namespace sluice::compiler
