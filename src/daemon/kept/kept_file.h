// The file of what clients deployed, for the next start of the daemon.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/graph/graph_file.h"
#include "terms/load.h"

namespace sluice::daemon {

/// A model, a function, or a graph of functions. One of `path`, `package` and `graph` says what.
struct KeptModel {
  std::int64_t number = 0;   ///< unique in the file, above 0
  std::string path = {};     ///< of a package, as the client named it
  std::string package = {};  ///< name of an uploaded package in the folder beside the file
  std::optional<sandbox::GraphFile> graph = {};  ///< its functions are numbers of this file
  terms::LoadOptions options = {};               ///< without a group; of a graph its name alone
  std::int64_t user = -1;                        ///< who deployed it, as terms::Peer
  std::string token = {};
  std::string error = {};  ///< why the last start did not make it; empty: it did
};

/// JSON: {"models": [{"number": 1, "path": ..., "name": ..., ...}]}
std::string print_kept_models(const std::vector<KeptModel>& models);
/// Models of older files get numbers.
/// Fails: kInvalidArgument; the message names the field.
Result<std::vector<KeptModel>> parse_kept_models(std::string_view text);

/// "17.sluice", of the deployment 17.
std::string package_name(std::int64_t number);
/// The number of such a name; nothing for another name.
std::optional<std::int64_t> package_number(std::string_view name);

}  // namespace sluice::daemon
