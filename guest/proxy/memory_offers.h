// Memory of the device that guests pass to each other by address.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace sluice::guest {

class SharedDevice;
class MemoryOffers;

/// Goes back to the device with its last holder, on whose thread no work with it is left.
/// Immutable.
class OfferedMemory {
 public:
  OfferedMemory(MemoryOffers& offers, std::string key, std::uint64_t address, std::uint64_t bytes)
      : offers_(offers), key_(std::move(key)), address_(address), bytes_(bytes) {}
  ~OfferedMemory();
  OfferedMemory(const OfferedMemory&) = delete;
  OfferedMemory& operator=(const OfferedMemory&) = delete;

  const std::string& key() const { return key_; }
  std::uint64_t address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  MemoryOffers& offers_;
  const std::string key_;
  const std::uint64_t address_;
  const std::uint64_t bytes_;
};

/// What the guests of a proxy offer each other. Who says the key, which is a secret, may open it.
/// Safe across threads that have joined the device.
class MemoryOffers {
 public:
  /// `device` outlives the offers and their holders.
  explicit MemoryOffers(SharedDevice& device) : device_(device) {}

  /// Takes memory of the device's pool. Null where the system has no random numbers.
  std::shared_ptr<const OfferedMemory> add(std::uint64_t address, std::uint64_t bytes);
  /// Null: nobody holds such memory.
  std::shared_ptr<const OfferedMemory> find(std::string_view key) const;

 private:
  friend class OfferedMemory;
  void end(const OfferedMemory& memory);

  SharedDevice& device_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, std::weak_ptr<const OfferedMemory>, std::less<>> offers_;
};

}  // namespace sluice::guest
