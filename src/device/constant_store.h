// Constants in the memory of a device: there once, however many models read them.
#pragma once

#include <memory>
#include <stop_token>

#include "base/bytes.h"
#include "device/memory_pool.h"
#include "device/module_cache.h"
#include "device/shared_transfers.h"

namespace sluice::device {

/// Of one device. Safe across threads; bytes that several ask for at once are copied once.
class ConstantStore {
 public:
  /// `memory` and `client` are those of the same device.
  ConstantStore(MemoryPool memory, std::shared_ptr<SharedTransfers::Client> client)
      : memory_(std::move(memory)), client_(std::move(client)) {}

  /// Points to the device's copy of `bytes`, and keeps that there as long as anybody holds it. The
  /// same bytes at the same place are the same constant: the copy keeps the original's owner alive,
  /// so that its place is not another's meanwhile.
  /// Fails: kResourceExhausted naming who uses the device's memory; kCancelled; what copying
  ///        reports.
  Result<std::shared_ptr<const void>> bring(const Bytes& bytes, const std::stop_token& stop = {});

  /// Constants that somebody holds.
  std::size_t num_living() const { return copies_.num_living(); }

 private:
  struct OnDevice {
    Bytes original;
    PooledMemory memory;
  };
  Result<std::shared_ptr<const OnDevice>> upload(const Bytes& bytes, const std::stop_token& stop);

  MemoryPool memory_;
  std::shared_ptr<SharedTransfers::Client> client_;
  ModuleCache<OnDevice> copies_;
};

}  // namespace sluice::device
