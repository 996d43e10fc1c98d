#include "repository/tree/model_folder.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/system/folder.h"
#include "base/text/number.h"
#include "base/utf8.h"
#include "repository/config/model_list.h"
#include "repository/tree/label_files.h"
#include "repository/tree/resolve.h"
#include "repository/tree/state_files.h"

namespace sluice::repository {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxModels = 4096;
constexpr std::size_t kMaxEntries = 1 << 16;  // of one folder
constexpr std::size_t kMaxVersions = 1024;    // of a model
constexpr const char* kConfigName = "config.pbtxt";
/// Config file of Hugging Face's hub: the model is the folder.
constexpr const char* kLanguageConfig = "config.json";

/// What exporters lay beside the files of a language model.
bool is_export(const fs::path& path) {
  return path.extension() == ".onnx" || path.extension() == ".sluice";
}

bool is_model_file(const fs::path& path) { return is_export(path) || path.extension() == ".gguf"; }

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

/// A folder with the files of a language model, and without a model that exporters lay beside such
/// a configuration. Fails: as list_folder and resolve, for a file that lies elsewhere.
Result<bool> is_language_model(const fs::path& folder, const fs::path& root) {
  std::error_code error;
  if (!fs::exists(folder / kLanguageConfig, error)) return false;
  const auto files = SLUICE_TRY(list_folder(folder));
  const auto is_weights = [](const fs::path& path) { return path.extension() == ".safetensors"; };
  if (std::ranges::none_of(files, is_weights) || std::ranges::any_of(files, is_export)) {
    return false;
  }
  for (const fs::path& file : files) SLUICE_TRY(resolve(file, root));
  return true;
}

/// A model's file with its external data. Exporters name files of weights after the model:
/// NAME.onnx.data, NAME.data, NAME_0.bin. An update of others needs a new model file.
Result<std::vector<fs::path>> with_weights(const fs::path& file) {
  std::vector<fs::path> files = {file};
  if (file.extension() != ".onnx") return files;
  const std::string stem = file.stem().string();
  std::error_code error;
  std::ranges::copy_if(SLUICE_TRY(list_folder(file.parent_path())), std::back_inserter(files),
                       [&](const fs::path& path) {
                         return path.filename().string().starts_with(stem) &&
                                !is_model_file(path) && !fs::is_directory(path, error);
                       });
  return files;
}

/// A file beside its external data has the fingerprint of all files of the folder.
std::string fingerprint_of(const std::vector<fs::path>& files) {
  std::string all;
  for (const fs::path& file : files) {
    all += fmt::format("{} {}\n", file.string(), file_version(file));
  }
  return digest_of(all);
}

/// Nullopt for what is no version: other servers pass over such folders, too.
std::optional<std::int64_t> version_of(const std::string& name) {
  const auto number = to_number<std::int64_t>(name);
  return number && *number >= 1 && name.front() != '0' ? number : std::nullopt;
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
  for (const std::string_view usual : {"model.sluice", "model.onnx", "model.gguf"}) {
    if (const auto found = named(usual); found != files.end()) return *found;
  }
  const auto first = std::ranges::find_if(files, is_model_file);
  if (first == files.end()) {
    return make_error(Code::kNotFound, "there is no model.onnx and no model.sluice");
  }
  if (std::find_if(first + 1, files.end(), is_model_file) == files.end()) return *first;
  return invalid_argument("several files may be the model; give default_model_filename");
}

/// `folder` may be `root` itself.
VersionFile read_version(const fs::path& folder, std::int64_t number, const ModelConfig& config,
                         const fs::path& root) {
  VersionFile version = {number, fs::path(), {}};
  if (!config.steps.empty()) return version;  // an ensemble has no file
  const auto find = [&]() -> Result<fs::path> {
    const fs::path real = folder == root ? root : SLUICE_TRY(resolve(folder, root));
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

Result<ModelConfig> read_config(const fs::path& folder, const fs::path& root,
                                const std::string* config, std::string& text) {
  if (config != nullptr) {
    text = *config;
    return read_model_config(text).with_context("the configuration of the load");
  }
  std::error_code error;
  if (fs::symlink_status(folder / kConfigName, error).type() == fs::file_type::not_found) {
    return ModelConfig();
  }
  const fs::path path = SLUICE_TRY(resolve(folder / kConfigName, root));
  text = SLUICE_TRY(read_real_text(path, kMaxConfigBytes));
  return read_model_config(text).with_context(kConfigName);
}

/// The versions in `folder` that the model's configuration wants.
Status add_versions(const fs::path& folder, const fs::path& root, ModelFolder& model) {
  std::set<std::int64_t> numbers;
  for (const fs::path& path : SLUICE_TRY(list_folder(folder))) {
    std::error_code error;
    const auto number = version_of(path.filename().string());
    if (number && fs::is_directory(path, error)) numbers.insert(*number);
  }
  // Archives and version control leave empty folders out.
  if (numbers.empty() && !model.config.steps.empty()) numbers.insert(1);
  const auto chosen = choose(numbers, model.config.policy);
  if (chosen.size() > kMaxVersions) {
    return invalid_argument("the policy wants {} versions; at most {} are served", chosen.size(),
                            kMaxVersions);
  }
  const std::string config = digest_of(model.config.load_text);
  for (const std::int64_t number : chosen) {
    VersionFile version = read_version(folder / std::to_string(number), number, model.config, root);
    version.fingerprint += config;
    model.versions.push_back(std::move(version));
  }
  if (!model.versions.empty()) return ok_status();
  return make_error(Code::kNotFound,
                    "the folder has no version: models lie in folders named by a number from 1");
}

Result<ModelFolder> read_tree(const fs::path& folder, const fs::path& root, const std::string& name,
                              const std::string* config) {
  ModelFolder model;
  model.config = SLUICE_TRY(read_config(folder, root, config, model.config_text));
  if (!model.config.name.empty() && model.config.name != name) {
    return invalid_argument("{}: the name is \"{}\", the folder's is \"{}\"", kConfigName,
                            model.config.name.substr(0, 64), name);
  }
  model.folder = folder;
  // A change of the files that it names is one of the configuration.
  model.config.load_text += labels_fingerprint(model.config, folder, root);
  if (model.config.sequences) {
    model.config.load_text += first_states_fingerprint(*model.config.sequences, folder, root);
  }
  SLUICE_TRY(add_versions(folder, root, model));
  return model;
}

/// Links must not lead out of the place that the list names. A place without versions is one.
Result<ModelFolder> read_listed(const fs::path& file, const std::string& name, ListFile& lists) {
  const ListFile::List list = SLUICE_TRY(lists.read(file));
  const auto name_of = [](const ListedModel& model) -> const std::string& {
    return model.config.name;
  };
  const auto listed = std::ranges::lower_bound(list->models, name, {}, name_of);
  if (listed == list->models.end() || listed->config.name != name) {
    return make_error(Code::kNotFound, "{} has it no longer", file.filename().string());
  }
  ModelFolder model;
  model.config = listed->config;
  model.config_text = listed->text;
  // The warnings belong to the list as a whole: the first model's load logs them.
  if (listed == list->models.begin()) {
    std::ranges::copy(list->warnings, std::back_inserter(model.config.warnings));
  }
  std::error_code error;
  const fs::path base = fs::canonical(listed->base, error);
  if (error) {
    return make_error(Code::kNotFound, "\"{}\": {}", listed->base.string(), error.message());
  }
  if (!fs::is_directory(base, error)) {
    const auto files = SLUICE_TRY(with_weights(base));
    model.versions.push_back({1, base, fingerprint_of(files) + digest_of(model.config.load_text)});
    return model;
  }
  const auto entries = SLUICE_TRY(list_folder(base));
  const bool has_versions = std::ranges::any_of(entries, [&](const fs::path& path) {
    return version_of(path.filename().string()) && fs::is_directory(path, error);
  });
  if (has_versions) {
    SLUICE_TRY(add_versions(base, base, model));
  } else {
    VersionFile version = read_version(base, 1, model.config, base);
    version.fingerprint += digest_of(model.config.load_text);
    model.versions.push_back(std::move(version));
  }
  return model;
}

}  // namespace

std::string digest_of(std::string_view text) {
  return fmt::format("{:x}:{:x} ", text.size(), std::hash<std::string_view>()(text));
}

Result<std::vector<std::string>> list_models(const fs::path& root, ListFile& lists) {
  std::set<std::string> names;
  std::error_code error;
  if (fs::is_regular_file(root, error)) {
    const ListFile::List list = SLUICE_TRY(lists.read(root));
    for (const ListedModel& model : list->models) names.insert(model.config.name);
    return std::vector<std::string>(names.begin(), names.end());
  }
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

Result<ModelFolder> read_model_folder(const fs::path& root, const std::string& name,
                                      ListFile& lists, const std::string* config) {
  std::error_code is_file_error;
  const bool is_list = fs::is_regular_file(root, is_file_error);
  if (is_list && config == nullptr) return read_listed(root, name, lists);
  if (is_list) return unimplemented("the configuration of a listed model stands in the list");
  std::vector<fs::path> found;
  for (const char* ending : {".onnx", ".sluice", ".gguf", ""}) {
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
  const bool is_folder = fs::is_directory(real, error);
  if (is_folder && !SLUICE_TRY(is_language_model(real, root))) {
    return read_tree(real, root, name, config);
  }
  if (config != nullptr) return unimplemented("a file, or a language model, has no configuration");
  const auto files = SLUICE_TRY(is_folder ? list_folder(real) : with_weights(real));
  ModelFolder model;
  model.versions.push_back({1, real, fingerprint_of(files)});
  return model;
}

std::string fingerprint_of(const Result<ModelFolder>& folder) {
  if (!folder.is_ok()) return folder.status().message();
  std::string all;
  for (const VersionFile& version : folder->versions) all += version.fingerprint + "\n";
  return digest_of(all) + digest_of(folder->config_text);
}

}  // namespace sluice::repository
