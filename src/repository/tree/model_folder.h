// What a repository's folder has of a model.
//
//     DIR/NAME.onnx, .sluice or .gguf        a model of version 1
//     DIR/NAME/config.json, *.safetensors    a language model of version 1, as Hugging Face has it
//     DIR/NAME/config.pbtxt                  optional
//     DIR/NAME/VERSION/model.onnx            or another ending; versions are numbers from 1
//     DIR/NAME/VERSION/config.json, ...      or a language model there
//
// In place of a folder stands a file, a config.json of OVMS, that lists models and their folders
// (repository/config/model_list.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "repository/config/model_config.h"
#include "repository/tree/list_file.h"

namespace sluice::repository {

/// Limit of a config.pbtxt.
inline constexpr std::int64_t kMaxConfigBytes = 1 << 18;

/// A version that the policy of its model wants.
struct VersionFile {
  std::int64_t number = 1;
  /// Path of the model, without links; the folder of a language model; or why there is none. Empty
  /// for an ensemble.
  Result<std::filesystem::path> file;
  /// Differs after a change of the configuration, or of a file in the version's folder.
  std::string fingerprint;
};

struct ModelFolder {
  ModelConfig config;
  std::string config_text;            ///< as it was read; empty: there is none
  std::filesystem::path folder;       ///< of config.pbtxt, without links; empty: there is none
  std::vector<VersionFile> versions;  ///< ascending
};

/// A short text that differs for another text: fingerprints are kept for each version.
std::string digest_of(std::string_view text);

/// The names of the models in `root`: of files and folders, but for those that start with a dot or
/// are no names (check_name). Sorted, at most 4096. Fails: as opening the folder, or reading the
/// list.
Result<std::vector<std::string>> list_models(const std::filesystem::path& root, ListFile& lists);

/// Reads no labels: with_labels does. `lists` keeps the list if `root` is one.
///
/// `config`: what stands in place of the folder's config.pbtxt; null: nothing does.
///
/// Requires: `root` is canonical, `name` is one of list_models.
/// Fails: kNotFound  the model has gone, or its folder has no version
///        kInvalidArgument  a link leads out of `root`; a file and a folder have this name; the
///                          policy wants more than 1,024 versions
///        kUnimplemented  a list has a `config` of each of its models
///        as read_model_config and read_model_list
Result<ModelFolder> read_model_folder(const std::filesystem::path& root, const std::string& name,
                                      ListFile& lists, const std::string* config = nullptr);

/// Differs after a change of what a load of the model reads. A folder that cannot be read has its
/// error as fingerprint: it is tried again when the error changes.
std::string fingerprint_of(const Result<ModelFolder>& folder);

}  // namespace sluice::repository
