// Tensors of one recorded segment in the memory of a device that cannot reach the host's.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>

#include "backend/command_list.h"
#include "device/memory_pool.h"
#include "plan/placement.h"

namespace sluice::exec {

/// Keeps the layout of the host: a binding's bytes that the segment uses become one region, in
/// which offsets keep their distances. So tensors that share bytes of the arena one after the other
/// share bytes of the device too. A tensor is copied in before the first kernel that reads it, and
/// copied out behind the kernel that writes it if anything outside the segment reads it. Segments
/// of one plug-in's devices hand it over without the host.
///
///     host    | input |      arena      | output |
///                | copy in       ^ copy out
///     device  | input |  arena, used part  |
///                            | copy in from its writer
///     device          |  arena, used part  |
///
/// Used by one thread while a command list is recorded; the memory must outlive the list.
class DeviceMirror {
 public:
  /// The tensors of a binding lie at `address` on the device before and after each run, so they are
  /// not copied. Requires: nothing of the binding was added.
  void lie_at(std::int32_t binding, void* address) { fixed_[binding] = address; }
  /// Declares that the segment uses `size_bytes` at `place`. Requires: an arena or binding place;
  /// not allocated.
  void add(const plan::Place& place, std::int64_t size_bytes);
  /// Bytes that the added segments' tensors need.
  std::int64_t size_bytes() const;
  /// Takes memory of the device for every region. Reports name `owner`.
  /// Fails: as MemoryPool::allocate.
  Status allocate(device::MemoryPool& memory, std::string_view owner);

  /// Where kernels find the tensor. Requires: it was added; allocated.
  sluice_argument argument(const plan::Place& place) const;
  /// Records the copy from the memory of `giver`, else from the host, unless the device has the
  /// tensor. Returns the bytes of the copy. Requires: as `argument`, for the giver too, which
  /// outlives the list.
  Result<std::int64_t> copy_in(const plan::Place& place, std::int64_t size_bytes,
                               backend::CommandList& list, const DeviceMirror* giver = nullptr);
  /// Records the copy to the host. Returns its bytes. Requires: as `argument`.
  Result<std::int64_t> copy_out(const plan::Place& place, std::int64_t size_bytes,
                                backend::CommandList& list) const;
  /// Says that a kernel wrote the tensor on the device.
  void mark_present(const plan::Place& place) { present_.insert(place.operand); }

 private:
  struct Region {
    std::int64_t begin = 0;  ///< bytes of the binding
    std::int64_t end = 0;
    std::int64_t offset_bytes = 0;  ///< in `memory_`
  };

  /// Bytes that a region needs, with the remainder of the host's offset, so that kernels see the
  /// alignment that the plan gave.
  static std::int64_t padded_bytes(const Region& region);

  bool is_fixed(const plan::Place& place) const { return fixed_.contains(place.binding); }

  std::map<std::int32_t, Region> regions_;  ///< by binding
  std::map<std::int32_t, void*> fixed_;     ///< by binding
  std::set<ir::OperandId> present_;         ///< owners of memory whose bytes the device has
  device::PooledMemory memory_;
};

}  // namespace sluice::exec
