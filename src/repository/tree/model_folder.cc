#include "repository/tree/model_folder.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/utf8.h"

namespace sluice::repository {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxModels = 4096;
constexpr std::size_t kMaxEntries = 1 << 16;  // of one folder
constexpr std::int64_t kMaxConfigBytes = 1 << 18;
constexpr const char* kConfigName = "config.pbtxt";
/// Of Hugging Face's hub: the model is the folder.
constexpr const char* kLanguageConfig = "config.json";

bool is_model_file(const fs::path& path) {
  return path.extension() == ".onnx" || path.extension() == ".sluice";
}

/// The entries' paths, sorted. Fails: as opening the folder.
Result<std::vector<fs::path>> list_folder(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  auto entry = fs::directory_iterator(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (paths.size() == kMaxEntries) {
      return invalid_argument("\"{}\" has more than {} entries", folder.string(), kMaxEntries);
    }
    if (!entry->path().filename().native().starts_with('.')) paths.push_back(entry->path());
  }
  if (error) {
    return make_error(Code::kNotFound, "\"{}\": {}", folder.string(), error.message());
  }
  std::ranges::sort(paths);
  return paths;
}

/// Without links. Fails: kNotFound; kInvalidArgument for what lies outside of `root`.
Result<fs::path> resolve(const fs::path& path, const fs::path& root) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (error) return make_error(Code::kNotFound, "\"{}\": {}", path.string(), error.message());
  const auto [in_root, in_real] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  if (in_root == root.end() && in_real != real.end()) return real;
  return invalid_argument("\"{}\" is a link that leads out of the repository", path.string());
}

/// A folder with the files of a language model, and without a model that exporters lay beside such
/// a configuration. Fails: as list_folder and resolve, for a file that lies elsewhere.
Result<bool> is_language_model(const fs::path& folder, const fs::path& root) {
  std::error_code error;
  if (!fs::exists(folder / kLanguageConfig, error)) return false;
  const auto files = SLUICE_TRY(list_folder(folder));
  const auto is_weights = [](const fs::path& path) { return path.extension() == ".safetensors"; };
  if (std::ranges::none_of(files, is_weights) || std::ranges::any_of(files, is_model_file)) {
    return false;
  }
  for (const fs::path& file : files) SLUICE_TRY(resolve(file, root));
  return true;
}

/// Of a file beside its external data: of all files of the folder.
std::string fingerprint_of(const std::vector<fs::path>& files) {
  std::string all;
  for (const fs::path& file : files) {
    all += fmt::format("{} {}\n", file.string(), file_version(file));
  }
  return all;
}

/// Nullopt for what is no version: other servers pass over such folders, too.
std::optional<std::int64_t> version_of(const std::string& name) {
  std::int64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, number);
  if (error != std::errc() || stop != end || number < 1 || name.front() == '0') return std::nullopt;
  return number;
}

/// The model among the files of a version's folder.
Result<fs::path> find_file(const std::vector<fs::path>& files, const std::string& wanted) {
  const auto named = [&](std::string_view name) {
    return std::ranges::find_if(files, [&](const auto& file) { return file.filename() == name; });
  };
  if (!wanted.empty()) {
    const auto found = named(wanted);
    if (found != files.end()) return *found;
    return make_error(Code::kNotFound, "there is no \"{}\" (default_model_filename)", wanted);
  }
  for (const std::string_view usual : {"model.sluice", "model.onnx"}) {
    if (const auto found = named(usual); found != files.end()) return *found;
  }
  const auto first = std::ranges::find_if(files, is_model_file);
  if (first == files.end()) {
    return make_error(Code::kNotFound, "there is no model.onnx and no model.sluice");
  }
  if (std::find_if(first + 1, files.end(), is_model_file) == files.end()) return *first;
  return invalid_argument("several files may be the model; give default_model_filename");
}

VersionFile read_version(const fs::path& folder, std::int64_t number, const ModelConfig& config,
                         const fs::path& root) {
  VersionFile version = {number, fs::path(), {}};
  const auto find = [&]() -> Result<fs::path> {
    const fs::path real = SLUICE_TRY(resolve(folder, root));
    const auto files = SLUICE_TRY(list_folder(real));
    version.fingerprint = fingerprint_of(files);
    if (config.file_name.empty() && SLUICE_TRY(is_language_model(real, root))) return real;
    const fs::path file = SLUICE_TRY(find_file(files, config.file_name));
    return resolve(file, root);
  };
  version.file = find();
  return version;
}

/// Those that the policy wants; ascending.
std::vector<std::int64_t> choose(const std::set<std::int64_t>& all, const VersionPolicy& policy) {
  std::vector<std::int64_t> chosen(all.begin(), all.end());
  if (policy.kind == VersionPolicy::Kind::kLatest) {
    const auto count = static_cast<std::int64_t>(chosen.size());
    chosen.erase(chosen.begin(), chosen.end() - std::min(policy.num_latest, count));
  } else if (policy.kind == VersionPolicy::Kind::kSpecific) {
    chosen.assign(policy.versions.begin(), policy.versions.end());
    std::ranges::sort(chosen);
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  }
  return chosen;
}

Result<ModelConfig> read_config(const fs::path& folder, const fs::path& root, std::string& text) {
  std::error_code error;
  if (fs::symlink_status(folder / kConfigName, error).type() == fs::file_type::not_found) {
    return ModelConfig();
  }
  const fs::path path = SLUICE_TRY(resolve(folder / kConfigName, root));
  text = SLUICE_TRY(read_text_file(path, kMaxConfigBytes));
  return read_model_config(text).with_context(kConfigName);
}

Result<ModelFolder> read_tree(const fs::path& folder, const fs::path& root,
                              const std::string& name) {
  ModelFolder model;
  std::string text;
  model.config = SLUICE_TRY(read_config(folder, root, text));
  if (!model.config.name.empty() && model.config.name != name) {
    return invalid_argument("{}: the name is \"{}\", the folder's is \"{}\"", kConfigName,
                            model.config.name.substr(0, 64), name);
  }
  std::set<std::int64_t> numbers;
  for (const fs::path& path : SLUICE_TRY(list_folder(folder))) {
    std::error_code error;
    const auto number = version_of(path.filename().string());
    if (number && fs::is_directory(path, error)) numbers.insert(*number);
  }
  for (const std::int64_t number : choose(numbers, model.config.policy)) {
    VersionFile version = read_version(folder / std::to_string(number), number, model.config, root);
    version.fingerprint += text;
    model.versions.push_back(std::move(version));
  }
  if (!model.versions.empty()) return model;
  return make_error(Code::kNotFound,
                    "the folder has no version: models lie in folders named by a number from 1");
}

}  // namespace

Result<std::vector<std::string>> list_models(const fs::path& root) {
  std::set<std::string> names;
  std::error_code error;
  for (const fs::path& path : SLUICE_TRY(list_folder(root))) {
    const bool is_folder = fs::is_directory(path, error);
    if (!is_folder && !is_model_file(path)) continue;
    std::string name = (is_folder ? path.filename() : path.stem()).string();
    if (check_name(name, "model").is_ok()) names.insert(std::move(name));
  }
  if (names.size() > kMaxModels) {
    return invalid_argument("\"{}\" has more than {} models", root.string(), kMaxModels);
  }
  return std::vector<std::string>(names.begin(), names.end());
}

Result<ModelFolder> read_model_folder(const fs::path& root, const std::string& name) {
  std::vector<fs::path> found;
  for (const char* ending : {".onnx", ".sluice", ""}) {
    std::error_code error;
    const fs::path path = root / (name + ending);
    const bool is_folder = fs::is_directory(path, error);
    const bool wants_folder = *ending == '\0';
    if (is_folder == wants_folder && fs::exists(path, error)) found.push_back(path);
  }
  if (found.empty()) return make_error(Code::kNotFound, "the repository has it no longer");
  if (found.size() > 1) {
    return invalid_argument("{} and {} have the same name", found[0].filename().string(),
                            found[1].filename().string());
  }
  const fs::path real = SLUICE_TRY(resolve(found.front(), root));
  std::error_code error;
  std::vector<fs::path> files = {real};
  if (fs::is_directory(real, error)) {
    const bool is_language = SLUICE_TRY(is_language_model(real, root));
    if (!is_language) return read_tree(real, root, name);
    files = SLUICE_TRY(list_folder(real));
  }
  ModelFolder model;
  if (real.extension() == ".onnx") {
    // Exporters name files of weights after the model: NAME.onnx.data, NAME.data, NAME_0.bin. An
    // update of others needs a new model file.
    const std::string stem = real.stem().string();
    std::ranges::copy_if(SLUICE_TRY(list_folder(real.parent_path())), std::back_inserter(files),
                         [&](const fs::path& path) {
                           return path.filename().string().starts_with(stem) &&
                                  !is_model_file(path) && !fs::is_directory(path, error);
                         });
  }
  model.versions.push_back({1, real, fingerprint_of(files)});
  return model;
}

}  // namespace sluice::repository
