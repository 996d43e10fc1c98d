// Memory between pages that nobody may touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::fuzz {

/// Places tensors at the very end or the very beginning of pages that are followed and preceded by
/// pages without access, so that an overrun ends the process in every build. Sanitizers see the
/// bytes around a tensor as poisoned, too. Not thread-safe.
class GuardedMemory {
 public:
  /// The largest tensor that a slot takes.
  static constexpr std::int64_t kMaxBytes = std::int64_t{1} << 18;

  GuardedMemory() = default;
  ~GuardedMemory();
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  /// Memory for `bytes`, aligned to 64, behind or in front of a guard page. The bytes have a
  /// pattern. Requires: 0 <= bytes <= kMaxBytes.
  void* place(std::int64_t bytes, bool at_end);

  /// Aborts if the bytes between a tensor and its guard page, which alignment leaves, have changed.
  /// Then all memory is free again.
  void check_and_reset();

 private:
  struct Slot {
    std::byte* begin = nullptr;  ///< of the pages between the guards
    std::byte* tensor = nullptr;
    std::int64_t bytes = 0;
  };

  static Slot map_slot();
  static void check(const Slot& slot);

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace sluice::fuzz
