#include "sluice/model/cache_key.h"

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
#include "sluice/model/model_source.h"

namespace sluice::tool {
namespace {

namespace fs = std::filesystem;

/// A file by size and time, or that it is missing.
std::string file_text(const fs::path& path) {
  std::error_code error;
  const auto size_bytes = fs::file_size(path, error);
  if (error) return fmt::format("{} -\n", path.string());
  const auto changed = fs::last_write_time(path, error).time_since_epoch().count();
  return fmt::format("{} {} {}\n", path.string(), size_bytes, changed);
}

/// The program or shared library that holds the compiler: this code is in the same one.
std::string program_text() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&cache_key), &info) == 0) return "";
  return file_text("/proc/self/exe") + file_text(info.dli_fname);
}

/// Plug-ins, and for which processors they pack constants.
std::string backends_text() {
  std::string text;
  for (const backend::Plugin& plugin : backend_registry().all()) {
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
               max_segments, min_share, cuts, cores, executor, winograd, strassen, weights, graphs,
               architectures, code, emit, pack, packed_only] = flags;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", shapes,
                     backends, overridable, optimize, places,
                     operator_times.empty() ? "" : file_text(operator_times), min_segment,
                     max_segments, min_share, cuts, cores, executor, winograd, strassen, weights,
                     graphs, architectures, code, emit, pack, packed_only);
}

/// External data lies beside the file, or beside the file that `path` is a link to.
std::string external_text(const std::string& path, std::span<const std::byte> model) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  std::string text;
  for (const std::string& location : onnx::external_locations(model)) {
    text += file_text(fs::absolute(path).parent_path() / location);
    text += file_text(real.parent_path() / location);
  }
  return text;
}

/// Files of a folder may be links to others, whose size and time count.
std::string folder_text(const std::string& path) {
  std::string text;
  for (const fs::path& file : recipes::files_of_model(path)) text += file_text(fs::absolute(file));
  return text;
}

}  // namespace

Result<std::string> cache_key(const std::string& path, const options::CompileFlags& flags) {
  const bool is_folder = recipes::is_model_folder(path);
  const fs::path file = is_folder ? fs::path(path) / "config.json" : fs::path(path);
  const Bytes model = SLUICE_TRY(map_file(file));
  const std::string text = flags_text(flags) + program_text() + backends_text() +
                           environment_text() +
                           (is_folder ? folder_text(path) : external_text(path, model.view())) +
                           fmt::format("{} bytes", model.size());
  return fmt::format("{:016x}-{:016x}", package::checksum_of(model.view()),
                     package::checksum_of(std::as_bytes(std::span(text))));
}

}  // namespace sluice::tool
