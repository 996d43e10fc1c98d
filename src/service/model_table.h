// The models that a daemon serves: who owns each, what runs it, how requests reach it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>

#include "dispatch/model_ref.h"
#include "service/types.h"

namespace sluice::service {

/// Of a model from the end of its load to the end of its unload.
struct ServedModel {
  SessionId owner = kNobody;
  std::string account;                 ///< who loaded it
  runtime::ModelHost* host = nullptr;  ///< outlives the table
  std::shared_ptr<dispatch::ModelRef> ref;
};

/// Safe across threads.
class ModelTable {
 public:
  void add(runtime::ModelHandle model, ServedModel served);
  /// What was there.
  std::optional<ServedModel> remove(runtime::ModelHandle model);
  /// Fails: kInvalidHandle.
  Result<ServedModel> find(runtime::ModelHandle model) const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<runtime::ModelHandle, ServedModel> models_;
};

}  // namespace sluice::service
