#include "guest/proxy/memory_offers.h"

#include <utility>

#include "base/system/secret.h"
#include "guest/proxy/shared_device.h"

namespace sluice::guest {

OfferedMemory::~OfferedMemory() { offers_.end(*this); }

std::shared_ptr<const OfferedMemory> MemoryOffers::add(std::uint64_t address, std::uint64_t bytes) {
  auto key = make_secret();
  if (!key.is_ok()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto at = offers_.try_emplace(*key).first;
  auto made = std::make_shared<const OfferedMemory>(*this, std::move(key).value(), address, bytes);
  at->second = made;
  return made;
}

std::shared_ptr<const OfferedMemory> MemoryOffers::find(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = offers_.find(key);
  return found != offers_.end() ? found->second.lock() : nullptr;
}

void MemoryOffers::end(const OfferedMemory& memory) {
  {
    const std::lock_guard lock(mutex_);
    offers_.erase(memory.key());
  }
  device_.free(memory.address());
}

}  // namespace sluice::guest
