// A list of models with the places of their folders: a config.json of OpenVINO Model Server (OVMS).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "repository/config/model_config.h"

namespace sluice::repository {

struct ListedModel {
  std::filesystem::path base;  ///< of its versions, absolute
  ModelConfig config;          ///< with the name
  std::string text;            ///< all that the list says of it
};

struct ModelList {
  std::vector<ListedModel> models;    ///< by name
  std::vector<std::string> warnings;  ///< of what the text has beside models
};

/// The fields are those of OVMS (docs/open-inference.md lists them), and those of read_traffic.
/// `folder`: that of the file, in which relative places begin.
/// Fails: kInvalidArgument naming the field; kUnimplemented for what would change the answers, such
///        as a mean that the server takes off.
Result<ModelList> read_model_list(std::string_view text, const std::filesystem::path& folder);

}  // namespace sluice::repository
