// The functions of `sluice` that need the compiler; builds without the compiler use no_compiler.cc.
#include <utility>

#include "compiler/cache_key.h"
#include "compiler/compile_model.h"
#include "package/draft.h"
#include "recipes/gguf/gguf_text_files.h"
#include "sluice/cli/command.h"
#include "sluice/model/compile_cache.h"
#include "sluice/model/model_source.h"
#include "weights/gguf/gguf.h"

namespace sluice::tool {

std::vector<std::unique_ptr<Command>> make_compiler_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_compile_command());
  commands.push_back(make_link_command());
  commands.push_back(make_explain_command());
  commands.push_back(make_operator_times_command());
  commands.push_back(make_quantize_command());
  commands.push_back(make_tune_command());
  commands.push_back(make_conformance_command());
  return commands;
}

namespace {

Result<std::string> key_of(const ModelOptions& options) {
  return compiler::cache_key({.path = options.path}, options, backend_registry());
}

/// `draft` may be null: the executable stays in memory.
Result<package::Executable> compile(const ModelOptions& options, package::Draft* draft,
                                    const Progress& progress) {
  const compiler::Source source = {.path = options.path};
  return compiler::compile_model(source, options, backend_registry(),
                                 {.draft = draft, .progress = progress});
}

/// Writes the package to `place`. Fails: as compile_model, and where the file cannot be written.
Result<package::Executable> compile_to(const std::filesystem::path& place,
                                       const ModelOptions& options, const Progress& progress) {
  package::Draft draft = SLUICE_TRY(package::Draft::create(place));
  auto executable = SLUICE_TRY(compile(options, &draft, progress));
  SLUICE_TRY(draft.finish(executable));
  fmt::print(stderr, "compiled {}; the next call reads {}\n", options.path, place.string());
  return executable;
}

/// Whether the model or an option is wrong, rather than a full disk.
bool is_refusal(Code code) {
  return code == Code::kInvalidArgument || code == Code::kNotFound || code == Code::kUnimplemented;
}

Result<package::Executable> compile_cached(const CompileCache& cache, const ModelOptions& options,
                                           const Progress& progress) {
  const std::string key = SLUICE_TRY(key_of(options));
  if (auto kept = cache.find(key)) return std::move(*kept);
  auto executable = compile_to(cache.place_of(key), options, progress);
  cache.trim();
  if (executable.is_ok() || is_refusal(executable.status().code())) return executable;
  return compile(options, nullptr, progress);
}

}  // namespace

Result<package::Executable> compile_model(const ModelOptions& options, const Progress& progress) {
  auto executable = SLUICE_TRY(compile(options, nullptr, progress));
  print_warnings(options.path, executable.graph);
  return executable;
}

Result<package::Executable> compile_once(const ModelOptions& options, const Progress& progress) {
  const auto cache = CompileCache::open();
  if (!cache || !compiler::is_cacheable(options)) return compile_model(options, progress);
  auto executable = SLUICE_TRY(compile_cached(*cache, options, progress));
  print_warnings(options.path, executable.graph);
  return executable;
}

Result<std::map<std::string, Bytes>> read_gguf_text(const Bytes& file) {
  return recipes::gguf_text_files(SLUICE_TRY(weights::read_gguf_metadata(file)));
}

Result<std::filesystem::path> compile_into_cache(const ModelOptions& options) {
  const auto cache = CompileCache::open();
  if (!cache) {
    return make_error(Code::kUnavailable,
                      "there is no folder for compiled models; name one in SLUICE_CACHE_DIR");
  }
  const std::string key = SLUICE_TRY(key_of(options));
  if (!cache->find(key)) {
    const auto executable = SLUICE_TRY(compile_to(cache->place_of(key), options, {}));
    print_warnings(options.path, executable.graph);
    cache->trim();
  }
  return cache->place_of(key);
}

}  // namespace sluice::tool
