// What a daemon reads of each model that it serves, once.
#pragma once

#include <iterator>
#include <map>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "dispatch/model_ref.h"

namespace sluice::completions {

/// Safe across threads.
template <typename T>
class PerModel {
 public:
  using Read = Result<std::shared_ptr<const T>> (*)(const dispatch::ModelRef& model);
  explicit PerModel(Read read) : read_(read) {}

  /// Blocks while somebody reads the same model. Fails: as `read`, which is tried again then.
  Result<std::shared_ptr<const T>> find(const std::shared_ptr<const dispatch::ModelRef>& model) {
    const auto entry = entry_of(model);
    const std::lock_guard lock(entry->mutex);
    if (entry->value == nullptr) entry->value = SLUICE_TRY(read_(*model));
    return entry->value;
  }

  /// Frees what was read of models that are unloaded.
  void forget_unloaded() {
    std::map<const dispatch::ModelRef*, std::shared_ptr<Entry>> unloaded;
    const std::lock_guard lock(mutex_);
    for (auto at = entries_.begin(); at != entries_.end();) {
      const auto next = std::next(at);
      if (at->second->model.expired()) unloaded.insert(entries_.extract(at));
      at = next;
    }
  }

 private:
  struct Entry {
    std::weak_ptr<const dispatch::ModelRef> model;  ///< an unload waits for those who share it
    std::mutex mutex;                               ///< held while it is read; taken without the
                                                    ///< table's
    std::shared_ptr<const T> value;
  };

  /// A later model may have the address of one that is unloaded.
  std::shared_ptr<Entry> entry_of(const std::shared_ptr<const dispatch::ModelRef>& model) {
    forget_unloaded();
    const std::lock_guard lock(mutex_);
    auto& entry = entries_[model.get()];
    if (entry == nullptr) {
      entry = std::make_shared<Entry>();
      entry->model = model;
    }
    return entry;
  }

  const Read read_;
  std::mutex mutex_;
  std::map<const dispatch::ModelRef*, std::shared_ptr<Entry>> entries_;
};

}  // namespace sluice::completions
