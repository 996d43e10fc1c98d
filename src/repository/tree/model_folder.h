// What a repository's folder has of a model.
//
//     DIR/NAME.onnx, DIR/NAME.sluice         a model of version 1
//     DIR/NAME/config.json, *.safetensors    a language model of version 1, as Hugging Face has it
//     DIR/NAME/config.pbtxt                  optional
//     DIR/NAME/VERSION/model.onnx            versions are numbers from 1
//     DIR/NAME/VERSION/config.json, ...      or a language model there
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "repository/config/model_config.h"

namespace sluice::repository {

/// A version that the policy of its model wants.
struct VersionFile {
  std::int64_t number = 1;
  /// Of the model, without links; the folder of a language model; or why there is none.
  Result<std::filesystem::path> file;
  /// Differs after a change of the configuration, or of a file in the version's folder.
  std::string fingerprint;
};

struct ModelFolder {
  ModelConfig config;
  std::vector<VersionFile> versions;  ///< ascending
};

/// The names of the models in `root`: of files and folders, but for those that start with a dot or
/// are no names (check_name). Sorted, at most 4096. Fails: as opening the folder.
Result<std::vector<std::string>> list_models(const std::filesystem::path& root);

/// Requires: `root` is canonical, `name` is one of list_models.
/// Fails: kNotFound  the model has gone, or its folder has no version
///        kInvalidArgument  a link leads out of `root`; a file and a folder have this name
///        as read_model_config
Result<ModelFolder> read_model_folder(const std::filesystem::path& root, const std::string& name);

}  // namespace sluice::repository
