#include "api/functions/snapshots.h"

#include <mutex>
#include <unordered_map>
#include <utility>

namespace sluice::api {
namespace {

struct Kept {
  std::mutex mutex;
  std::unordered_map<const void*, std::shared_ptr<const void>> owners;
};

Kept& kept() {
  static auto* const all = new Kept;  // never destroyed: other static objects may hold snapshots
  return *all;
}

}  // namespace

void keep_snapshot(const void* address, std::shared_ptr<const void> owner) {
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  all.owners.insert_or_assign(address, std::move(owner));
}

void release_snapshot(const void* address) {
  std::shared_ptr<const void> owner;  // freed without the lock
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  const auto it = all.owners.find(address);
  if (it == all.owners.end()) return;
  owner = std::move(it->second);
  all.owners.erase(it);
}

}  // namespace sluice::api
