// The models that clients may load by name, and a folder of models with versions.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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
  /// options say so. Until the models are loaded the service is not ready.
  void start();
  /// Ends compilations, and begins none from now on.
  void start_draining();
  /// Ends the thread, too. Blocks. May be called again.
  void stop();

  /// Serves what the folder has of the model now; what did not change stays. A name that the folder
  /// lacks: NAME.sluice of the service's model folders, unless it is loaded. Blocks.
  /// Fails: kInvalidArgument for what is no name; kNotFound; as read_model_folder and
  ///        Service::load. What is loaded stays.
  Status load(const service::Caller& caller, const std::string& name);
  /// All versions of a model of the folder, or the model of this name. Blocks.
  /// Fails: as Service::find_named and Service::unload.
  Status unload(const service::Caller& caller, const std::string& name);
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
    std::string seen;     ///< the same, of the last look. Of the repository's thread
    std::string error;    ///< of the model as a whole; this and `versions`: guarded by mutex_
    std::map<std::int64_t, Version> versions;
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
  bool is_in_folder(const std::string& name) const;
  Status load_packaged(const service::Caller& caller, const std::string& name);

  Status load_model(const std::string& name, Model& model);
  Status load_versions(const std::string& name, Model& model, const ModelFolder& folder);
  Status load_version(Load& load, Model& model, const VersionFile& wanted);
  Result<terms::ModelHandle> load_file(Load& load, const VersionFile& wanted);
  void unload_model(Model& model);
  void retire(Model& model, std::int64_t number);
  void retire_handle(terms::ModelHandle handle);
  /// What a version serves now: an administrator may have unloaded it.
  terms::ModelHandle served_of(Model& model, std::int64_t number);
  bool is_served(terms::ModelHandle handle) const;

  void run();
  void look(bool is_start);
  void look_at(const std::string& name, bool is_start);
  void add_folder_entries(std::vector<IndexEntry>& entries) const;
  static std::string_view state_name(State state);

  service::Service& service_;
  const RepositoryOptions options_;
  PackageSource packages_;
  mutable ListFile lists_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, std::shared_ptr<Model>> models_;
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace sluice::repository
