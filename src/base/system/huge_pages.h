// Pages of 2 MiB that a process reserves when it starts, for its large buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.h"

namespace sluice {

/// Thread-safe.
class HugePages {
 public:
  static constexpr std::int64_t kPageBytes = std::int64_t{2} << 20;

  /// Reserves pages of the system's pool (vm.nr_hugepages) and touches them, so that none can be
  /// missing later.
  /// Fails: kResourceExhausted with the number asked, the number found and the command to run.
  static Result<std::shared_ptr<HugePages>> reserve(std::int64_t num_pages);
  /// Manages memory of the caller, which outlives this. Only whole pages are used.
  static std::shared_ptr<HugePages> over(std::span<std::byte> memory);

  /// Sets the source of pages for large buffers of this process; null: none. Existing buffers keep
  /// their pages.
  static void set_for_process(std::shared_ptr<HugePages> pages);
  static std::shared_ptr<HugePages> of_process();

  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;
  ~HugePages();

  /// Contiguous pages of at least `size_bytes`; null if no free run is long enough.
  void* take(std::int64_t size_bytes);
  /// Returns pages from `take`, with the same size.
  void give_back(void* data, std::int64_t size_bytes);

  std::int64_t num_pages() const { return static_cast<std::int64_t>(is_taken_.size()); }
  std::int64_t num_taken() const;

 private:
  HugePages(std::span<std::byte> memory, bool is_mapped);

  const std::span<std::byte> memory_;
  const bool is_mapped_;  ///< and ours to unmap
  mutable std::mutex mutex_;
  std::vector<bool> is_taken_;  ///< by page
};

}  // namespace sluice
