// The models that a restarted daemon loads again.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "service/service.h"

namespace sluice::daemon {

struct KeptModel {
  std::string path;
  terms::LoadOptions options;  ///< without a group
  std::int64_t user = -1;      ///< who loaded it, as terms::Peer
  std::string token = {};
};

/// JSON: {"models": [{"path": ..., "name": ..., ...}]}
std::string print_kept_models(const std::vector<KeptModel>& models);
/// Fails: kInvalidArgument; the message names the field.
Result<std::vector<KeptModel>> parse_kept_models(std::string_view text);

/// Keeps a state file: the models that clients loaded by path, without a session and without a
/// group. Every change replaces the file atomically. Safe across threads.
class KeptModels {
 public:
  /// `log` outlives it. Empty path: nothing is kept.
  KeptModels(std::string path, service::Log& log) : path_(std::move(path)), log_(log) {}

  /// Loads the models of the state file through `service`, which outlives this, and keeps the file
  /// from now on. A model that does not load stays in the file, and the log names it. Fails: as
  /// parse_kept_models, and reading the file; a missing file is empty.
  Status restore(service::Service& service);

 private:
  void add(terms::ModelHandle handle, KeptModel model);
  void remove(terms::ModelHandle handle);
  void write() const;

  const std::string path_;
  service::Log& log_;
  std::mutex mutex_;  ///< guards the members below, and the file
  std::map<terms::ModelHandle, KeptModel> loaded_;
  std::vector<KeptModel> absent_;  ///< did not load
};

}  // namespace sluice::daemon
