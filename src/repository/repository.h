// The models that clients may load by name, and a folder of models with versions.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "repository/package_source.h"
#include "repository/tree/model_folder.h"
#include "service/service.h"

namespace sluice::repository {

struct RepositoryOptions {
  std::filesystem::path place = {};  ///< a folder, canonical, or a list of them; empty: none
  std::int64_t poll_ns = 0;          ///< between two looks at the folder; 0: clients say when
  std::filesystem::path compiler = {};
  ChildLimits compile_limits = {};
  std::vector<std::string> text_flags = {};  ///< of `sluice compile` for models of texts
};

/// The state of a version that answers.
inline constexpr std::string_view kReadyState = "READY";

/// An entry of the protocol's index.
struct IndexEntry {
  std::string name;
  std::int64_t version = 0;  ///< 0: of the model as a whole
  std::string_view state;    ///< kReadyState, "LOADING", "UNLOADING", "UNAVAILABLE"
  std::string reason;
};

/// Safe from any thread; calls of one model wait for each other.
///
/// A version that changed is loaded beside the old one and computes a request before clients find
/// it; then the old one goes, once whoever found it has an answer. If the new one does not load,
/// the old one stays as it is. Versions that the model's policy no longer wants go when all that it
/// wants are there.
///
/// An ensemble is loaded after its models, which a load of it loads if they are not served. When
/// one of them is loaded, an ensemble that it changes, or that failed without it, is loaded again:
/// as it was tried last, for changes of its own folder are another load's. A model may go before
/// its ensemble, whose requests then end with an error.
///
///     (found) --load--> LOADING --> READY --unload--> UNLOADING --> UNAVAILABLE
///                          `--> UNAVAILABLE, with the reason
class Repository {
 public:
  /// `service` outlives the repository.
  Repository(service::Service& service, RepositoryOptions options);
  Repository(const Repository&) = delete;
  Repository& operator=(const Repository&) = delete;
  ~Repository() { stop(); }

  /// Loads all models of the folder on a thread of its own, which then looks for changes if the
  /// options say so. Until the models are loaded the service is not ready. Fails: as start_thread.
  Status start();
  /// Ends compilations, and begins none from now on.
  void start_draining();
  /// Ends the thread, too. Blocks. May be called again.
  void stop();

  /// Serves what the folder has of the model now; what did not change stays. A name that the folder
  /// lacks: NAME.sluice of the service's model folders, unless it is loaded. `config` stands in
  /// place of the folder's config.pbtxt until the next load by a client; of two at a time the last
  /// one's counts. Blocks.
  /// Fails: kInvalidArgument for what is no name; kNotFound; as read_model_folder and
  ///        Service::load. What is loaded stays.
  Status load(const service::Caller& caller, const std::string& name,
              std::optional<std::string> config = {});
  /// All versions of a model of the folder, or the model of this name; `with_steps`: with the
  /// models of an ensemble that no other ensemble has. Blocks. Fails: as Service::find_named and
  /// Service::unload.
  Status unload(const service::Caller& caller, const std::string& name, bool with_steps);
  /// Models of the folder, loaded or not, and all others that are loaded.
  Result<std::vector<IndexEntry>> index() const;

 private:
  enum class State : std::uint8_t { kLoading, kReady, kUnloading, kUnavailable };
  struct Version {
    State state = State::kUnavailable;
    std::string reason;
    terms::ModelHandle handle{};  ///< 0: none is loaded
    std::string fingerprint;      ///< of what is loaded
  };
  struct Model {
    std::mutex changing;  ///< held for a load or an unload; taken before mutex_
    std::string tried;    ///< fingerprint of the last load. Guarded by `changing`
    std::string seen;     ///< the same, of the last look. For the repository's thread
    std::string error;    ///< of the model as a whole; this and the rest: guarded by mutex_
    std::optional<std::string> config;  ///< of the last load by a client; none: the folder's
    std::map<std::int64_t, Version> versions;
    std::set<std::string> steps;         ///< models that the versions of an ensemble run
    std::set<std::string> wanted_steps;  ///< of the last load, which may have failed
  };

  /// A load of a model. Its versions share what the configuration declares, which the first
  /// version that loads reads.
  struct Load {
    const std::string& name;
    const ModelFolder& folder;
    std::optional<Result<std::shared_ptr<const terms::DeclaredModel>>> declared = {};
  };

  std::shared_ptr<Model> find(const std::string& name) const;
  std::shared_ptr<Model> find_or_add(const std::string& name);
  void forget(const std::string& name);
  Result<ModelFolder> read(const std::string& name) const;
  bool is_in_folder(const std::string& name) const;
  Status load_packaged(const service::Caller& caller, const std::string& name);

  Status load_changed(const std::string& name);
  Status load_model(const std::string& name, Model& model);
  Status load_versions(const std::string& name, Model& model, const ModelFolder& folder);
  Status load_version(Load& load, Model& model, const VersionFile& wanted);
  Result<terms::ModelHandle> load_file(Load& load, const VersionFile& wanted);
  Result<terms::ModelEntry> load_joined(service::OwnModel& own);
  Result<terms::ModelHandle> load_ensemble(Load& load, Model& model, const VersionFile& wanted);
  Result<service::OwnGraph> link(const Load& load, Model& model);
  std::int32_t part_of_cores() const;
  Result<service::OwnModel> own_model(Load& load, const VersionFile& wanted);
  Status load_steps(const std::string& name);
  void add_load_order(const std::string& name, std::set<std::string>& seen,
                      std::vector<std::string>& order) const;
  void load_users(const std::string& name);
  std::set<std::string> users_of(const std::string& name,
                                 std::set<std::string> Model::*steps) const;
  bool is_in_use(const std::string& step) const;
  bool is_loading(const Model& model) const;
  bool is_wanted(const std::string& name, const Model& model, const std::string& step) const;
  std::set<std::string> steps_of(const std::string& name) const;
  std::set<std::string> all_steps_of(const std::string& name) const;
  Status check_circle(const std::string& name, const terms::DeclaredModel& ensemble) const;
  std::string steps_fingerprint(const terms::DeclaredModel& ensemble) const;
  void unload_steps(const std::set<std::string>& steps);
  void unload_model(Model& model);
  void retire(Model& model, std::int64_t number);
  void retire_handle(terms::ModelHandle handle);
  /// What a version serves now: an administrator may have unloaded it.
  terms::ModelHandle served_of(Model& model, std::int64_t number);
  bool is_served(terms::ModelHandle handle) const;
  std::vector<terms::ModelHandle> handles_of(const Model& model) const;

  void run();
  void look(bool is_start);
  bool look_at(const std::string& name, bool is_start);
  void note_missing_step(terms::ModelHandle handle, IndexEntry& entry) const;
  void add_folder_entries(std::vector<IndexEntry>& entries) const;
  static std::string_view state_name(State state);

  service::Service& service_;
  const RepositoryOptions options_;
  PackageSource packages_;
  mutable ListFile lists_;
  /// Held while an ensemble is linked to its models, so that no two of them become a circle; taken
  /// before mutex_.
  std::mutex linking_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, std::shared_ptr<Model>> models_;
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace sluice::repository
