// Models that are known by name and loaded at their first use.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"

namespace sluice::runtime {

/// Keeps models loaded within a byte budget and the available cores and memory. The first use of a
/// model loads it. To make room, the loader unloads the least recently used model that is neither
/// pinned nor in use. Safe across threads; different models load concurrently.
class DemandLoader {
 public:
  struct Loaded {
    std::uint64_t handle = 0;
    std::int64_t bytes = 0;
  };
  /// The calls of the engine. The last one is quick; the others may block and are called without a
  /// lock.
  struct Actions {
    std::function<Result<std::int64_t>(const std::string& name)> estimate_bytes;
    std::function<Result<Loaded>(const std::string& name)> load;
    std::function<void(std::uint64_t handle, std::int64_t drain_deadline_ns)> unload;
    /// Whether a loaded model still serves: it may have been unloaded, or its device lost. Quick;
    /// must not call the loader.
    std::function<bool(std::uint64_t handle)> is_usable;
  };

  DemandLoader(std::int64_t budget_bytes, Actions actions)
      : budget_bytes_(budget_bytes), actions_(std::move(actions)) {}

  /// A model that was added.
  struct Entry;

  /// Keeps a model loaded for its lifetime. Move-only.
  class Use {
   public:
    Use(Use&& other) noexcept;
    Use& operator=(Use&&) = delete;
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use();
    std::uint64_t handle() const { return handle_; }

   private:
    friend class DemandLoader;
    Use(DemandLoader& owner, std::shared_ptr<Entry> entry, std::uint64_t handle)
        : owner_(&owner), entry_(std::move(entry)), handle_(handle) {}
    DemandLoader* owner_;
    std::shared_ptr<Entry> entry_;
    std::uint64_t handle_;
  };

  /// A pinned model is never unloaded to make room. Fails: kInvalid for a name in use.
  Status add(const std::string& name, bool is_pinned);
  /// Fails: kInvalid for an unknown name.
  Status pin(const std::string& name, bool is_pinned);
  /// Forgets the name at once: later uses fail, and so do those that wait for a load. The model is
  /// loaded still, until it goes to `unload_removed`. Fails: kInvalid for an unknown name.
  Result<std::shared_ptr<Entry>> remove(const std::string& name);
  /// Waits for the end of a load, and unloads the model if it is loaded, in use or not.
  void unload_removed(Entry& removed, std::int64_t drain_deadline_ns);
  /// Loads the model unless it is loaded and serves. The loader outlives the use.
  /// Fails: kInvalid for an unknown name; kOutOfResources if no unload can make room; errors of the
  ///        load.
  Result<Use> use(const std::string& name);

  bool is_loaded(const std::string& name) const { return find_loaded(name).has_value(); }
  /// The handle of a loaded model.
  std::optional<std::uint64_t> find_loaded(const std::string& name) const;
  std::int64_t loaded_bytes() const;

 private:
  enum class State : std::uint8_t { kAbsent, kChanging, kLoaded };

  Status make_room(const std::string& name, std::int64_t bytes, std::unique_lock<std::mutex>& lock);
  Result<Loaded> load_making_room(const std::string& name, std::unique_lock<std::mutex>& lock);
  /// Whether a model was unloaded, or another thread is unloading one.
  bool evict_one(std::unique_lock<std::mutex>& lock);
  void unload(Entry& entry, std::unique_lock<std::mutex>& lock, std::int64_t drain_deadline_ns = 0);
  std::shared_ptr<Entry> find_victim() const;
  Status load(const std::string& name, Entry& entry, std::unique_lock<std::mutex>& lock);
  void release(Entry& entry);

  const std::int64_t budget_bytes_;
  const Actions actions_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
  std::int64_t used_bytes_ = 0;
  std::uint64_t num_uses_ = 0;
  int num_leaving_ = 0;  ///< running unloads
};

}  // namespace sluice::runtime
