// The models that a daemon serves: who owns each, what runs it, how requests reach it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dispatch/model_ref.h"
#include "dispatch/traffic.h"
#include "package/executable.h"
#include "runtime/model_host.h"
#include "service/replies/replying_model.h"
#include "terms/server/server.h"

namespace sluice::service {

/// A model from the end of its load to the end of its unload.
struct ServedModel {
  std::string name;
  std::int64_t version = 1;  ///< as terms::ModelEntry
  terms::SessionId owner = terms::kNobody;
  std::string account;                 ///< who loaded it
  runtime::ModelHost* host = nullptr;  ///< outlives the table
  std::shared_ptr<dispatch::ModelRef> ref;
  std::weak_ptr<const package::Executable> executable = {};  ///< its host's
  std::shared_ptr<ReplyingModel> replying =
      nullptr;  ///< the reference's; null: it keeps no replies
};

/// With its handle.
struct NamedModel {
  terms::ModelHandle handle{};
  ServedModel served;
};

/// Safe across threads.
class ModelTable {
 public:
  void add(terms::ModelHandle model, ServedModel served);
  /// What was there.
  std::optional<ServedModel> remove(terms::ModelHandle model);
  /// Fails: kInvalidHandle.
  Result<ServedModel> find(terms::ModelHandle model) const;
  /// Finds the highest version, or the one that is asked for, of the models with this name that
  /// nobody or `session` owns; of equal ones the one that was added last.
  /// Fails: kInvalidHandle, with code kNotFound.
  Result<NamedModel> find(std::string_view name, const dispatch::VersionChoice& choice,
                          terms::SessionId session) const;
  /// The same for a request. Where the choice is the daemon's, the versions take turns as the
  /// name's traffic says.
  Result<NamedModel> find_for_request(std::string_view name, const dispatch::VersionChoice& choice,
                                      terms::SessionId session) const;
  /// Divides the requests to this name from now on, among models that nobody owns. A shadow copies
  /// requests to versions that take the same inputs.
  void set_traffic(const std::string& name, dispatch::Traffic traffic);
  /// Why the name, or a version of it, is not there: words that end the error of `find`. Empty:
  /// nothing is to be said.
  void set_absence(const std::string& name, std::string why);
  /// Versions of the models with this name that nobody or `session` owns; ascending.
  std::vector<std::int64_t> versions(std::string_view name, terms::SessionId session) const;
  /// Nothing happens for a model that is gone.
  void set_executable(terms::ModelHandle model,
                      std::weak_ptr<const package::Executable> executable);
  /// From now on the model is found by its handle alone.
  void remove_name(terms::ModelHandle model);

 private:
  void remove_name_locked(const std::string& name, terms::ModelHandle model);
  const dispatch::TrafficTurns* turns_locked(std::string_view name) const;
  const std::pair<const terms::ModelHandle, ServedModel>* find_locked(
      std::string_view name, std::optional<std::int64_t> version, terms::SessionId session) const;
  Result<NamedModel> named_locked(std::string_view name, const dispatch::VersionChoice& choice,
                                  terms::SessionId session) const;
  /// In no order.
  std::vector<std::int64_t> versions_locked(std::string_view name, terms::SessionId session) const;
  void set_shadows_locked(const std::string& name) const;

  mutable std::shared_mutex mutex_;
  std::map<terms::ModelHandle, ServedModel> models_;
  std::multimap<std::string, terms::ModelHandle, std::less<>> by_name_;  ///< oldest first
  std::map<std::string, dispatch::TrafficTurns, std::less<>> traffic_;   ///< of names that have one
  std::map<std::string, std::string, std::less<>> absences_;
};

}  // namespace sluice::service
