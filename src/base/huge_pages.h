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

  /// Takes them from those the system keeps for it (vm.nr_hugepages), and touches them, so that
  /// none is missing later.
  /// Fails: kResourceExhausted with the number asked, the number found and the command to run.
  static Result<std::shared_ptr<HugePages>> reserve(std::int64_t num_pages);
  /// Over memory that the caller keeps for as long: whole pages.
  static std::shared_ptr<HugePages> over(std::span<std::byte> memory);

  /// From which large buffers of this process are taken from now on; null: from none. Buffers keep
  /// the pages that they have.
  static void set_for_process(std::shared_ptr<HugePages> pages);
  static std::shared_ptr<HugePages> of_process();

  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;
  ~HugePages();

  /// Whole pages in a row, at least `size_bytes` of them; null where no row is long enough.
  void* take(std::int64_t size_bytes);
  /// What `take` gave, for as many bytes.
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
