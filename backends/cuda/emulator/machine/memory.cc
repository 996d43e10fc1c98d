#include "emulator/machine/memory.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace sluice::cuda::emulator {
namespace {

constexpr CuDevicePointer kAlignment = 512;      // the driver's is at least 256
constexpr CuDevicePointer kRedZone = 64 * 1024;  // unmapped on both sides of an allocation
constexpr std::size_t kMaxRemembered = 4096;     // freed allocations that a message can still name

CuDevicePointer address_of(const void* pointer) {
  return reinterpret_cast<CuDevicePointer>(pointer);
}

std::string describe(const Allocation& allocation) {
  return std::to_string(allocation.bytes) + " bytes at " + address_text(allocation.address) +
         " of device " + std::to_string(allocation.device);
}

}  // namespace

std::string address_text(CuDevicePointer address) {
  std::string digits;
  for (; address != 0 || digits.empty(); address >>= 4U) {
    digits.insert(digits.begin(), "0123456789abcdef"[address & 15U]);
  }
  return "0x" + digits;
}

std::shared_ptr<Allocation> AddressSpace::allocate(CuDevice device, std::size_t bytes,
                                                   Allocation::State state) {
  auto allocation = std::make_shared<Allocation>();
  allocation->bytes = bytes;
  allocation->device = device;
  allocation->state = state;
  allocation->data.reset(new std::byte[bytes]);
  std::memset(allocation->data.get(), 0xff, bytes);
  const std::unique_lock lock(mutex_);
  allocation->address = next_;
  next_ += (bytes + kRedZone + kAlignment - 1) / kAlignment * kAlignment;
  allocations_.emplace(allocation->address, allocation);
  return allocation;
}

void AddressSpace::free(Allocation& allocation) {
  const std::unique_lock lock(mutex_);
  allocation.state = Allocation::State::kFreed;
  allocation.data.reset();
  ++epoch_;
  if (++num_freed_ > kMaxRemembered) forget_oldest();
}

void AddressSpace::free_all(CuDevice device) {
  const std::unique_lock lock(mutex_);
  ++epoch_;
  std::erase_if(allocations_, [&](const auto& entry) {
    if (entry.second->device != device) return false;
    if (entry.second->state == Allocation::State::kFreed) --num_freed_;
    entry.second->state = Allocation::State::kFreed;
    return true;
  });
}

void AddressSpace::forget_oldest() {
  const auto oldest = std::ranges::find_if(allocations_, [](const auto& entry) {
    return entry.second->state == Allocation::State::kFreed;
  });
  allocations_.erase(oldest);
  --num_freed_;
}

std::shared_ptr<Allocation> AddressSpace::find(CuDevicePointer address) const {
  const std::shared_lock lock(mutex_);
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return nullptr;
  const auto& allocation = std::prev(after)->second;
  return address - allocation->address < std::max<std::size_t>(allocation->bytes, 1) ? allocation
                                                                                     : nullptr;
}

Fault AddressSpace::resolve(CuDevicePointer address, std::size_t bytes, Place* place) const {
  if (auto allocation = find(address); allocation != nullptr) {
    const std::size_t offset = address - allocation->address;
    const std::shared_lock lock(mutex_);
    if (allocation->state == Allocation::State::kLive && bytes <= allocation->bytes - offset) {
      std::byte* const data = allocation->data.get() + offset;
      *place = {allocation, allocation->data, data, allocation->bytes - offset};
      return {};
    }
  } else {
    const std::shared_lock lock(mutex_);
    const auto after = pinned_.upper_bound(address);
    if (after != pinned_.begin()) {
      const auto [start, size] = *std::prev(after);
      if (address - start < size && bytes <= size - (address - start)) {
        *place = {nullptr, nullptr, reinterpret_cast<std::byte*>(address),
                  size - (address - start)};
        return {};
      }
    }
  }
  return describe_miss(address, bytes);
}

Fault AddressSpace::describe_miss(CuDevicePointer address, std::size_t bytes) const {
  std::string text = std::to_string(bytes) + " bytes at " + address_text(address) + ": ";
  const auto allocation = find(address);
  if (allocation != nullptr && allocation->state == Allocation::State::kFreed) {
    text += "the allocation of " + describe(*allocation) + " was freed";
  } else if (allocation != nullptr && allocation->state == Allocation::State::kPromised) {
    text += "the allocation of " + describe(*allocation) + " has not happened yet in its stream";
  } else if (allocation != nullptr) {
    text += "they pass the end of the allocation of " + describe(*allocation);
  } else {
    const std::shared_lock lock(mutex_);
    const auto after = allocations_.upper_bound(address);
    text += "no memory of a device is there";
    if (after != allocations_.begin()) {
      const Allocation& before = *std::prev(after)->second;
      const CuDevicePointer beyond = address - before.address - before.bytes;
      text += "; the allocation of " + describe(before) + " ends " + std::to_string(beyond) +
              " bytes before";
    }
  }
  return {CuResult::kIllegalAddress, std::move(text)};
}

bool AddressSpace::pin(void* address, std::size_t bytes) {
  const std::unique_lock lock(mutex_);
  const CuDevicePointer start = address_of(address);
  const auto after = pinned_.lower_bound(start);
  if (after != pinned_.end() && after->first - start < bytes) return false;
  if (after != pinned_.begin()) {
    const auto [before, size] = *std::prev(after);
    if (start - before < size) return false;
  }
  pinned_.emplace(start, bytes);
  return true;
}

bool AddressSpace::unpin(void* address) {
  const std::unique_lock lock(mutex_);
  ++epoch_;
  return pinned_.erase(address_of(address)) == 1;
}

bool AddressSpace::is_pinned(const void* address, std::size_t bytes) const {
  const std::shared_lock lock(mutex_);
  const CuDevicePointer start = address_of(address);
  const auto after = pinned_.upper_bound(start);
  if (after == pinned_.begin()) return false;
  const auto [before, size] = *std::prev(after);
  return start - before < size && bytes <= size - (start - before);
}

}  // namespace sluice::cuda::emulator
