#include "rpc/client/shared_tensors.h"

#include "shm/region.h"

namespace sluice::rpc::client {

void SharedTable::add(const std::shared_ptr<SharedTensors>& shared) {
  const std::lock_guard lock(mutex_);
  std::erase_if(by_address_, [](const auto& entry) { return entry.second.expired(); });
  by_address_[shared->memory().data()] = shared;
}

void SharedTable::remove(std::uint64_t region) {
  const std::lock_guard lock(mutex_);
  std::erase_if(by_address_, [&](const auto& entry) {
    const auto shared = entry.second.lock();
    return shared == nullptr || shared->region() == region;
  });
}

std::optional<terms::RegionSlice> SharedTable::find(const void* data,
                                                    std::int64_t size_bytes) const {
  const std::lock_guard lock(mutex_);
  if (by_address_.empty() || data == nullptr || size_bytes < 0) return std::nullopt;
  const auto* first = static_cast<const std::byte*>(data);
  // The last region that begins at or before the address; regions do not overlap.
  auto it = by_address_.upper_bound(first);
  if (it == by_address_.begin()) return std::nullopt;
  const auto shared = (--it)->second.lock();
  if (shared == nullptr) return std::nullopt;
  const auto offset = static_cast<std::uint64_t>(first - shared->memory().data());
  const auto size = static_cast<std::uint64_t>(size_bytes);
  if (offset >= shared->memory().size() || size > shared->memory().size() - offset ||
      offset % shm::kPlaceAlignment != 0) {
    return std::nullopt;
  }
  return terms::RegionSlice{shared->region(), offset, size};
}

}  // namespace sluice::rpc::client
