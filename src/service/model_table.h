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

#include "dispatch/model_ref.h"
#include "runtime/model_host.h"
#include "terms/server/server.h"

namespace sluice::service {

/// Of a model from the end of its load to the end of its unload.
struct ServedModel {
  std::string name;
  terms::SessionId owner = terms::kNobody;
  std::string account;                 ///< who loaded it
  runtime::ModelHost* host = nullptr;  ///< outlives the table
  std::shared_ptr<dispatch::ModelRef> ref;
};

/// Safe across threads.
class ModelTable {
 public:
  void add(terms::ModelHandle model, ServedModel served);
  /// What was there.
  std::optional<ServedModel> remove(terms::ModelHandle model);
  /// Fails: kInvalidHandle.
  Result<ServedModel> find(terms::ModelHandle model) const;
  /// Of several models with this name that nobody or `session` owns, the one that was added last.
  /// Fails: kInvalidHandle, with code kNotFound.
  Result<terms::ModelHandle> find(std::string_view name, terms::SessionId session) const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<terms::ModelHandle, ServedModel> models_;
  std::multimap<std::string, terms::ModelHandle, std::less<>> by_name_;  ///< oldest first
};

}  // namespace sluice::service
