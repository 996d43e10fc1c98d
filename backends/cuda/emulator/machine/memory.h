// Memory of emulated devices: addresses of their own, bounds, and life in the order of streams.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <shared_mutex>

#include "driver/types.h"
#include "emulator/machine/fault.h"

namespace sluice::cuda::emulator {

/// One range of a device's memory.
struct Allocation {
  enum class State { kPromised, kLive, kFreed };  // promised: a stream has yet to allocate it

  CuDevicePointer address = 0;
  std::size_t bytes = 0;
  CuDevice device = 0;
  std::atomic<State> state = State::kLive;
  std::shared_ptr<std::byte[]> data;  // null after the end; guarded by the AddressSpace
  CuMemoryPool pool = nullptr;        // null: of cuMemAlloc
  bool is_free_submitted = false;     // of a pool; guarded by the machine
};

/// The address space that all devices and the host's pinned memory share.
///
/// Addresses mean nothing to the host: they go up, are never given out twice, and have unmapped
/// space around them, so that an access outside an allocation or after its end is found. New memory
/// holds bytes 0xff, which are NaN as floats of any size. Safe from several threads.
class AddressSpace {
 public:
  /// Throws std::bad_alloc where the host has too little memory.
  std::shared_ptr<Allocation> allocate(CuDevice device, std::size_t bytes, Allocation::State state);
  /// Later accesses fail; the bytes go once no running access holds them.
  void free(Allocation& allocation);

  /// Ends all allocations of a device.
  void free_all(CuDevice device);

  /// The allocation around an address, freed ones included; null if none ever was there, or so
  /// long ago that it is forgotten.
  std::shared_ptr<Allocation> find(CuDevicePointer address) const;

  /// The bytes [address, address + bytes) if they lie within one live allocation or pinned range.
  /// `allocation` is null for the latter. Otherwise a fault that says what lies there.
  struct Place {
    std::shared_ptr<Allocation> allocation;
    std::shared_ptr<std::byte[]> bytes;  // of the allocation: they stay as long as this
    std::byte* data = nullptr;
    std::size_t room = 0;  // bytes from here to the end
  };
  Fault resolve(CuDevicePointer address, std::size_t bytes, Place* place) const;

  /// Host memory that devices reach at its own address. False if it overlaps a pinned range.
  bool pin(void* address, std::size_t bytes);
  bool unpin(void* address);
  bool is_pinned(const void* address, std::size_t bytes) const;

  /// Goes up with each end of an allocation: a place found earlier may be kept until then.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }

 private:
  Fault describe_miss(CuDevicePointer address, std::size_t bytes) const;
  void forget_oldest();

  mutable std::shared_mutex mutex_;
  CuDevicePointer next_ = 0x7000'0000'0000;
  std::map<CuDevicePointer, std::shared_ptr<Allocation>> allocations_;  // by address
  std::map<CuDevicePointer, std::size_t> pinned_;
  std::size_t num_freed_ = 0;
  std::atomic<std::uint64_t> epoch_ = 0;
};

/// "0x700000010000".
std::string address_text(CuDevicePointer address);

}  // namespace sluice::cuda::emulator
