#include "base/system/aligned_memory.h"

#include <sys/mman.h>

#include <new>
#include <utility>

#include "base/system/huge_pages.h"

namespace sluice {

std::shared_ptr<std::byte> allocate_aligned(std::uint64_t size_bytes) {
  const bool is_large = size_bytes >= static_cast<std::uint64_t>(HugePages::kPageBytes);
  if (auto pages = is_large ? HugePages::of_process() : nullptr) {
    const auto size = static_cast<std::int64_t>(size_bytes);  // a larger one than memory has no run
    if (void* taken = size > 0 ? pages->take(size) : nullptr) {
      return {static_cast<std::byte*>(taken), [pages = std::move(pages), size](std::byte* memory) {
                pages->give_back(memory, size);
              }};
    }
  }
  const std::align_val_t alignment{is_large ? std::size_t{HugePages::kPageBytes} : std::size_t{64}};
  auto* data = static_cast<std::byte*>(::operator new(size_bytes, alignment, std::nothrow));
  // Advisory: a failure changes nothing.
  if (is_large && data != nullptr) madvise(data, size_bytes, MADV_HUGEPAGE);
  return {data, [alignment](std::byte* memory) { ::operator delete(memory, alignment); }};
}

}  // namespace sluice
