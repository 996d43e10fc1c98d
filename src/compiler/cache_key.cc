#include "compiler/cache_key.h"

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "onnx/tensors/external_locations.h"
#include "package/header.h"
#include "recipes/recipe.h"

namespace sluice::compiler {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSettingsBytes = std::size_t{1} << 20U;

std::string file_text(const fs::path& path) {
  return fmt::format("{} {}\n", path.string(), file_version(path));
}

/// The program or shared library that holds the compiler: this code is in the same one.
std::string program_text() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&cache_key), &info) == 0) return "";
  return file_text("/proc/self/exe") + file_text(info.dli_fname);
}

/// The files of a folder, those of nested ones too.
std::string tree_text(const fs::path& folder) {
  std::vector<std::string> lines;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    lines.push_back(file_text(entry->path()));
  }
  std::ranges::sort(lines);
  return fmt::format("{}", fmt::join(lines, ""));
}

/// Plug-ins, and for which processors they pack constants.
std::string backends_text(const backend::BackendRegistry& backends) {
  std::string text;
  for (const backend::Plugin& plugin : backends.all()) {
    text += file_text(plugin.path);
    if (plugin.backend == nullptr) continue;
    text += fmt::format("{} {} {}\n", plugin.name, plugin.backend->version(),
                        plugin.backend->packing_key());
  }
  return text;
}

/// Variables that may change what a backend offers. "@FILE" names a file, as in SLUICE_SIM.
std::string environment_text() {
  std::vector<std::string> lines;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with("SLUICE_") || text.starts_with("SLUICE_CACHE_")) continue;
    if (text.starts_with("SLUICE_ADDRESS=") || text.starts_with("SLUICE_TOKEN=")) continue;
    lines.push_back(fmt::format("{}\n", text));
    const std::size_t file = text.find("=@");
    if (file != std::string_view::npos) lines.back() += file_text(text.substr(file + 2));
  }
  std::ranges::sort(lines);
  return fmt::format("{}", fmt::join(lines, ""));
}

/// All of them: a new one does not compile until it is listed here.
std::string flags_text(const options::CompileFlags& flags) {
  const auto& [shapes, backends, overridable, optimize, places, operator_times, min_segment,
               max_segments, min_share, cuts, cores, executor, winograd, strassen, weights,
               kv_cache, adapters, graphs, architectures, code, emit, operators, pack,
               packed_only] = flags;
  return fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", shapes, backends,
      overridable, optimize, places, operator_times.empty() ? "" : file_text(operator_times),
      min_segment, max_segments, min_share, cuts, cores, executor, winograd, strassen, weights,
      kv_cache, adapters, graphs, architectures, code.empty() ? "" : code + tree_text(code), emit,
      operators.empty() ? "" : file_text(operators), pack, packed_only);
}

std::string external_text(const Source& source, std::span<const std::byte> model) {
  std::error_code error;
  std::vector<fs::path> folders;
  if (!source.path.empty()) {
    // External data lies beside the file, or beside the file that the path is a link to.
    folders = {fs::absolute(source.path).parent_path(),
               fs::canonical(source.path, error).parent_path()};
  } else if (!source.folder.empty()) {
    folders = {fs::absolute(source.folder)};
  }
  std::string text;
  for (const std::string& location : onnx::external_locations(model)) {
    for (const fs::path& folder : folders) text += file_text(folder / location);
  }
  return text;
}

/// Files may be links to others, whose size and time count.
std::string recipe_text(const fs::path& path, const std::vector<std::string>& adapters) {
  std::string text;
  for (const fs::path& file : recipes::files_of_model(path)) text += file_text(fs::absolute(file));
  for (const std::string& adapter : adapters) {
    const auto source = recipes::AdapterSource::parse(adapter);
    if (!source.is_ok()) continue;  // the compilation fails
    for (const fs::path& file : source->files()) text += file_text(fs::absolute(file));
  }
  return text;
}

}  // namespace

bool is_cacheable(const options::CompileFlags& flags) {
  return flags.emit.empty() && flags.graphs.empty();
}

Result<std::string> cache_key(const Source& source, const options::CompileFlags& flags,
                              const backend::BackendRegistry& backends) {
  if (source.graph) return invalid_argument("a trace has no key: its constants are the program's");
  if (!is_cacheable(flags)) {
    return invalid_argument("--emit and --graphs write beside the package, which is not kept then");
  }
  const bool has_recipe = !source.path.empty() && recipes::has_recipe(source.path);
  Bytes file;
  std::span<const std::byte> model = source.bytes;
  if (!source.path.empty()) {
    file = SLUICE_TRY(
        map_file(has_recipe ? recipes::files_of_model(source.path).front() : source.path));
    model = file.view();
    // Weights may take gigabytes; their file's size and time stand for them.
    if (has_recipe) model = model.first(std::min(model.size(), kMaxSettingsBytes));
  }
  const std::string text =
      flags_text(flags) + program_text() + backends_text(backends) + environment_text() +
      (has_recipe ? recipe_text(source.path, flags.adapters) : external_text(source, model)) +
      fmt::format("{} bytes", model.size());
  return fmt::format("{:016x}-{:016x}", package::checksum_of(model),
                     package::checksum_of(std::as_bytes(std::span(text))));
}

}  // namespace sluice::compiler
