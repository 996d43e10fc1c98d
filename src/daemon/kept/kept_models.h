// The models, functions and graphs that a restarted daemon makes again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/kept/kept_file.h"
#include "daemon/kept/kept_packages.h"
#include "service/service.h"

namespace sluice::daemon {

/// Keeps a state file: what clients loaded and deployed without a session and without a group. An
/// uploaded package lies in the folder "FILE.packages". Every change replaces the file atomically.
/// Safe across threads.
class KeptModels {
 public:
  /// `log` outlives it. Empty path: nothing is kept.
  KeptModels(const std::string& path, service::Log& log)
      : path_(path), packages_(path + ".packages"), log_(log) {}

  /// Makes the models of the state file through `service`, which outlives this, and keeps the file
  /// from now on: a deployment that cannot be written fails. A model that is not made stays in the
  /// file with its error, and the log names it. Fails: as parse_kept_models, and reading the file;
  /// a missing file is empty.
  Status restore(service::Service& service);
  /// A successor makes its models from the file. While it starts, a deployment fails with
  /// kUnavailable, and removed models stay in the file; they leave it if there is no successor.
  void set_handing_over(bool is_handing_over);

 private:
  Result<terms::ModelEntry> make(service::Service& service, const KeptModel& model);
  void restore(service::Service& service, KeptModel model);
  /// Fails: kOutOfResources if it cannot be written.
  Status add(terms::ModelHandle handle, const service::Deployment& deployment);
  Status check_kept() const;
  Status add_locked(terms::ModelHandle handle, KeptModel model);
  void remove(terms::ModelHandle handle);
  void remove_locked(terms::ModelHandle handle);
  Result<sandbox::GraphFile> graph_of(const terms::GraphRequest& request) const;
  std::vector<KeptModel> all() const;
  Status write() const;

  const std::filesystem::path path_;
  KeptPackages packages_;
  service::Log& log_;
  std::mutex mutex_;  ///< guards the members below, and the file
  bool is_handing_over_ = false;
  std::map<terms::ModelHandle, KeptModel> made_;
  std::vector<KeptModel> absent_;            ///< not made
  std::vector<terms::ModelHandle> removed_;  ///< while handing over
  std::int64_t next_number_ = 1;
};

}  // namespace sluice::daemon
