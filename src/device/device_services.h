// Services that all users of a device share: memory, copies and constants.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "device/constant_store.h"

namespace sluice::device {

/// The services of one device with its own memory. Safe across threads.
struct DeviceServices {
  DeviceServices(const MemoryPool& pool, const std::shared_ptr<SharedTransfers>& shared)
      : memory(pool),
        transfers(shared),
        constants(pool, SharedTransfers::add_client(shared, "constants")) {}

  MemoryPool memory;
  std::shared_ptr<SharedTransfers> transfers;
  ConstantStore constants;
};

/// The services of all devices, created at their first use. Safe across threads.
class DeviceServiceTable {
 public:
  /// `clock` outlives the table and what it gave out.
  explicit DeviceServiceTable(const Clock& clock, const TransferOptions& options = {})
      : clock_(clock), options_(options) {}

  /// Null for a device that works on the host's memory (needs_transfers).
  /// Requires: `device` is one of the backend's.
  /// Fails: as SharedTransfers::create.
  Result<std::shared_ptr<DeviceServices>> of(const std::shared_ptr<const backend::Backend>& backend,
                                             int device);
  /// The services of a device, if they exist; null otherwise.
  std::shared_ptr<DeviceServices> find(const std::string& backend, int device) const;

 private:
  using Key = std::pair<std::string, int>;  // backend's name, its device

  const Clock& clock_;
  const TransferOptions options_;
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<DeviceServices>> services_;
};

}  // namespace sluice::device
