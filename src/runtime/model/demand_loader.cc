#include "runtime/model/demand_loader.h"

#include <utility>

#include "base/log/event_log.h"
#include "base/no_memory.h"
#include "terms/runtime_code.h"

namespace sluice::runtime {
namespace {

Status unknown(const std::string& name) {
  return terms::runtime_error(RuntimeCode::kInvalid, "no model is called \"{}\"; add it first",
                              name);
}

}  // namespace

/// Guarded by the loader's lock. Outlives its name while a use or a load has it.
struct DemandLoader::Entry {
  State state = State::kAbsent;
  bool is_pinned = false;
  bool is_removed = false;
  int num_uses = 0;
  std::uint64_t last_use = 0;
  std::int64_t bytes = 0;  ///< reserved during the load
  std::uint64_t handle = 0;
};

DemandLoader::Use::Use(Use&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)),
      entry_(std::move(other.entry_)),
      handle_(other.handle_) {}

DemandLoader::Use::~Use() {
  if (owner_ != nullptr) owner_->release(*entry_);
}

Status DemandLoader::add(const std::string& name, bool is_pinned) {
  const std::lock_guard lock(mutex_);
  const auto [it, is_new] = entries_.try_emplace(name);
  if (is_new) {
    it->second = std::make_shared<Entry>();
    it->second->is_pinned = is_pinned;
    return ok_status();
  }
  return terms::runtime_error(RuntimeCode::kInvalid, "a model is called \"{}\" already", name);
}

Status DemandLoader::pin(const std::string& name, bool is_pinned) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(name);
  if (it == entries_.end()) return unknown(name);
  it->second->is_pinned = is_pinned;
  return ok_status();
}

Result<std::shared_ptr<DemandLoader::Entry>> DemandLoader::remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(name);
  if (it == entries_.end()) return unknown(name);
  std::shared_ptr<Entry> entry = std::move(it->second);
  entries_.erase(it);
  entry->is_removed = true;
  return entry;
}

void DemandLoader::unload_removed(Entry& removed, std::int64_t drain_deadline_ns) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return removed.state != State::kChanging; });
  if (removed.state == State::kLoaded) unload(removed, lock, drain_deadline_ns);
}

Result<DemandLoader::Use> DemandLoader::use(const std::string& name) {
  std::unique_lock lock(mutex_);
  const auto it = entries_.find(name);
  if (it == entries_.end()) return unknown(name);
  const std::shared_ptr<Entry> shared = it->second;  // the name may go while the lock is released
  Entry& entry = *shared;
  // Terminates: every load and unload ends, with or without success, and notifies.
  changed_.wait(lock, [&] { return entry.state != State::kChanging; });
  if (entry.is_removed) return unknown(name);
  if (entry.state == State::kLoaded && !actions_.is_usable(entry.handle)) unload(entry, lock);
  if (entry.state == State::kAbsent) SLUICE_TRY(load(name, entry, lock));
  ++entry.num_uses;
  entry.last_use = ++num_uses_;
  return Use(*this, shared, entry.handle);
}

// States of an entry; only the thread that sets kChanging ends it:
//
//   kAbsent -- load --> kChanging --> kLoaded -- unload --> kChanging --> kAbsent
Status DemandLoader::load(const std::string& name, Entry& entry,
                          std::unique_lock<std::mutex>& lock) {
  // kChanging makes other threads wait for this entry while the lock is released.
  entry.state = State::kChanging;
  lock.unlock();
  // Nothing may leave here with kChanging: later uses would wait for ever.
  const auto bytes = catch_no_memory([&] { return actions_.estimate_bytes(name); });
  log_event(LogLevel::kInfo, "model.wanted name={}", in_quotes(name));
  lock.lock();
  Status status = bytes.is_ok() ? make_room(name, *bytes, lock) : bytes.status();
  if (status.is_ok()) {
    // Reserves the estimate, so that concurrent loads do not use the same room; the load replaces
    // it by the actual size.
    entry.bytes = *bytes;
    used_bytes_ += *bytes;
    const auto loaded = load_making_room(name, lock);
    used_bytes_ -= entry.bytes;
    status = loaded.status();
    if (loaded.is_ok()) {
      entry.bytes = loaded->bytes;
      entry.handle = loaded->handle;
      used_bytes_ += entry.bytes;
    }
  }
  entry.state = status.is_ok() ? State::kLoaded : State::kAbsent;
  changed_.notify_all();
  return status;
}

/// Whether the error is a lack of cores or memory, which unloading another model may free.
Result<DemandLoader::Loaded> DemandLoader::load_making_room(const std::string& name,
                                                            std::unique_lock<std::mutex>& lock) {
  while (true) {
    lock.unlock();
    auto loaded = catch_no_memory([&] { return actions_.load(name); });
    lock.lock();
    const RuntimeCode code = terms::runtime_code_of(loaded.status());
    const bool lacks_room =
        code == RuntimeCode::kNotEnoughCores || code == RuntimeCode::kOutOfResources;
    if (!lacks_room || !evict_one(lock)) return loaded;
  }
}

Status DemandLoader::make_room(const std::string& name, std::int64_t bytes,
                               std::unique_lock<std::mutex>& lock) {
  while (used_bytes_ > budget_bytes_ - bytes) {
    if (evict_one(lock)) continue;
    return terms::runtime_error(
        RuntimeCode::kOutOfResources,
        "model \"{}\" takes {} bytes; of {} are {} in use, and nothing else may "
        "be unloaded: unpin a model, or raise the budget",
        name, bytes, budget_bytes_, used_bytes_);
  }
  return ok_status();
}

bool DemandLoader::evict_one(std::unique_lock<std::mutex>& lock) {
  const std::shared_ptr<Entry> victim = find_victim();
  if (victim != nullptr) {
    unload(*victim, lock);
    return true;
  }
  if (num_leaving_ == 0) return false;
  const int num_leaving = num_leaving_;  // each is making room
  changed_.wait(lock, [&] { return num_leaving_ != num_leaving; });
  return true;
}

void DemandLoader::unload(Entry& entry, std::unique_lock<std::mutex>& lock,
                          std::int64_t drain_deadline_ns) {
  entry.state = State::kChanging;
  ++num_leaving_;
  const std::uint64_t handle = entry.handle;
  lock.unlock();
  log_event(LogLevel::kInfo, "model.evicted model={}", handle);
  actions_.unload(handle, drain_deadline_ns);
  lock.lock();
  --num_leaving_;
  used_bytes_ -= entry.bytes;
  entry.state = State::kAbsent;
  changed_.notify_all();
}

std::shared_ptr<DemandLoader::Entry> DemandLoader::find_victim() const {
  std::shared_ptr<Entry> victim;
  for (const auto& [name, entry] : entries_) {
    if (entry->state != State::kLoaded || entry->is_pinned || entry->num_uses > 0) continue;
    if (victim == nullptr || entry->last_use < victim->last_use) victim = entry;
  }
  return victim;
}

void DemandLoader::release(Entry& entry) {
  const std::lock_guard lock(mutex_);
  --entry.num_uses;
}

std::optional<std::uint64_t> DemandLoader::find_loaded(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(name);
  if (it == entries_.end() || it->second->state != State::kLoaded) return std::nullopt;
  return it->second->handle;
}

std::int64_t DemandLoader::loaded_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

}  // namespace sluice::runtime
