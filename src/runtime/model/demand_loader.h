// Models that are known by name and loaded when somebody needs them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"

namespace sluice::runtime {

/// Keeps as many models loaded as a byte budget allows, and as there are cores and memory for.
/// Whoever needs one that is not loaded loads it; to make room, the one that was used least
/// recently goes first, unless it is pinned or in use. Safe across threads; different models load
/// beside each other.
class DemandLoader {
 public:
  struct Loaded {
    std::uint64_t handle = 0;
    std::int64_t bytes = 0;
  };
  /// What the engine does. All but the last may take long and are called without a lock held.
  struct Actions {
    std::function<Result<std::int64_t>(const std::string& name)> estimate_bytes;
    std::function<Result<Loaded>(const std::string& name)> load;
    std::function<void(std::uint64_t handle)> unload;
    /// Whether a loaded model still serves: somebody may have unloaded it, its device may be lost.
    /// Quick, and does not come back here.
    std::function<bool(std::uint64_t handle)> is_usable;
  };

  DemandLoader(std::int64_t budget_bytes, Actions actions)
      : budget_bytes_(budget_bytes), actions_(std::move(actions)) {}

  /// A model in use: it stays loaded while this lives. Move-only.
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
    Use(DemandLoader& owner, std::string name, std::uint64_t handle)
        : owner_(&owner), name_(std::move(name)), handle_(handle) {}
    DemandLoader* owner_;
    std::string name_;
    std::uint64_t handle_;
  };

  /// A pinned model is never unloaded to make room. Fails: kInvalid for a name that is taken.
  Status add(const std::string& name, bool is_pinned);
  /// Fails: kInvalid for an unknown name.
  Status pin(const std::string& name, bool is_pinned);
  /// Loads the model if need be; anew, if it no longer serves. Loader must outlive the use.
  /// Fails: kInvalid for an unknown name; kOutOfResources if there is no room and nothing may go;
  ///        what loading reports.
  Result<Use> use(const std::string& name);

  bool is_loaded(const std::string& name) const;
  std::int64_t loaded_bytes() const;

 private:
  enum class State : std::uint8_t { kAbsent, kChanging, kLoaded };
  struct Entry {
    State state = State::kAbsent;
    bool is_pinned = false;
    int num_uses = 0;
    std::uint64_t last_use = 0;
    std::int64_t bytes = 0;  ///< reserved while it loads
    std::uint64_t handle = 0;
  };

  Status make_room(const std::string& name, std::int64_t bytes, std::unique_lock<std::mutex>& lock);
  Result<Loaded> load_making_room(const std::string& name, std::unique_lock<std::mutex>& lock);
  /// Whether there was one to unload, or is one that others unload.
  bool evict_one(std::unique_lock<std::mutex>& lock);
  void unload(Entry& entry, std::unique_lock<std::mutex>& lock);
  Entry* find_victim();
  Status load(const std::string& name, Entry& entry, std::unique_lock<std::mutex>& lock);
  void release(const std::string& name);

  const std::int64_t budget_bytes_;
  const Actions actions_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Entry> entries_;
  std::int64_t used_bytes_ = 0;
  std::uint64_t num_uses_ = 0;
  int num_leaving_ = 0;  ///< unloads that go on
};

}  // namespace sluice::runtime
