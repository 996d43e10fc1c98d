// Constants in the memory of a device, stored once for all models.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>

#include "base/bytes.h"
#include "device/memory_pool.h"
#include "device/module_cache.h"
#include "device/transfer/shared_transfers.h"

namespace sluice::device {

/// Who has the memory of constants in reports: they belong to no model.
inline constexpr const char* kConstantsClient = "constants";

/// The store of one device. Safe across threads; concurrent requests for the same bytes copy them
/// once. Also of tensors of an exchange, which nobody changes either.
class ConstantStore {
 public:
  /// `memory` and `client` are those of the same device.
  ConstantStore(MemoryPool memory, std::shared_ptr<SharedTransfers::Client> client)
      : memory_(std::move(memory)), client_(std::move(client)) {}

  /// Returns the device's copy of `bytes`; the copy lives as long as its users. The key is the host
  /// address and size. The copy keeps the original's owner alive, so that the address cannot be
  /// reused for other bytes. `linked`: of a device whose memory this one reads over a link; what it
  /// has comes from there instead of the host.
  /// Fails: kResourceExhausted naming who uses the device's memory; kCancelled; what copying
  ///        reports.
  Result<std::shared_ptr<const void>> bring(const Bytes& bytes, const std::stop_token& stop = {},
                                            const ConstantStore* linked = nullptr);

  /// The device's copy of these bytes of the host; null if it has none.
  std::shared_ptr<const void> find(const void* data, std::int64_t size_bytes) const;

  /// Memory for bytes that a run writes on the device. Fails: kResourceExhausted, as `bring`.
  Result<PooledMemory> reserve(std::int64_t size_bytes);
  /// From now on `memory`, which a run has written, is the device's copy of `bytes`, as if it had
  /// been brought. The host's memory need not hold the bytes yet.
  /// Requires: `memory` is of `reserve` for their size, and the device has no copy of them.
  Result<std::shared_ptr<const void>> adopt(const Bytes& bytes, PooledMemory memory);

  /// Reads the device's copy of `bytes` into memory of the host; none if the device has no copy.
  /// Fails: what copying reports.
  Result<std::optional<Bytes>> read_back(const Bytes& bytes) const;
  /// The same into `target`, which has their size. False if the device has no copy.
  Result<bool> read_back(const Bytes& bytes, void* target) const;

  /// Number of constants in use.
  std::size_t num_living() const { return copies_.num_living(); }

 private:
  struct OnDevice {
    Bytes original;
    PooledMemory memory;
  };
  Result<std::shared_ptr<const OnDevice>> upload(const Bytes& bytes, const std::stop_token& stop,
                                                 const ConstantStore* linked);

  MemoryPool memory_;
  std::shared_ptr<SharedTransfers::Client> client_;
  ModuleCache<OnDevice> copies_;
};

}  // namespace sluice::device
