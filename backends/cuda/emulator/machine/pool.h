// Memory in the order of streams: what a pool holds and what it gives back.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "driver/types.h"
#include "emulator/machine/work.h"

namespace sluice::cuda::emulator {

/// Counts the bytes of a pool. Addresses are always new (AddressSpace); a block that is used again
/// is bytes that stay reserved.
///
/// A freed block serves its own stream at once. It serves other streams once the free has run.
/// It goes back to the device at a synchronisation, as far as the pool holds more than its
/// threshold, or by trim_to, if the host has synchronised since the free ran. The machine's lock
/// guards a pool.
class MemoryPool {
 public:
  explicit MemoryPool(CuDevice device) : device_(device) {}

  CuDevice device() const { return device_; }

  /// Uses a free block where one fits; otherwise reserves. Returns the bytes newly reserved.
  std::uint64_t take(std::size_t bytes, const Stream& stream);
  /// Takes back the bytes that the last `take` reserved: the device has none.
  void cancel(std::size_t bytes, std::uint64_t reserved);
  /// `done` is reached when the stream has run the free.
  void give_back(std::size_t bytes, std::shared_ptr<const Stream> stream,
                 std::shared_ptr<Completion> done);

  /// The host has synchronised: frees that ran are known to it. Returns the bytes that go back to
  /// the device, down to the threshold.
  std::uint64_t synchronise();
  /// Returns the bytes that go back to the device, so that `min_bytes` stay if they can.
  std::uint64_t trim_to(std::uint64_t min_bytes);

  CuResult set(CuMemoryPoolAttribute attribute, const void* value);
  CuResult get(CuMemoryPoolAttribute attribute, void* value) const;

  std::uint64_t reserved_bytes() const { return reserved_; }
  /// Devices besides its own that may reach the pool's memory.
  std::vector<CuDevice> reached_from;

 private:
  struct Block {
    std::uint64_t bytes;
    std::shared_ptr<const Stream> stream;
    std::shared_ptr<Completion> done;
    bool is_observed;
  };

  CuDevice device_;
  std::vector<Block> free_;
  std::uint64_t threshold_ = 0;
  std::uint64_t reserved_ = 0, reserved_high_ = 0, used_ = 0, used_high_ = 0;
  int reuse_[4] = {0, 1, 1, 1};  // by attribute; kept for the one who asks
};

/// The bytes that an allocation takes of a pool or a device.
inline std::uint64_t rounded_bytes(std::size_t bytes) { return (bytes + 511) / 512 * 512; }

}  // namespace sluice::cuda::emulator
