#include "base/system/heap.h"

#include <malloc.h>

namespace sluice {

std::int64_t heap_bytes() {
  const auto use = mallinfo2();
  return static_cast<std::int64_t>(use.uordblks + use.hblkhd);
}

bool HeapTrimmer::look() {
  constexpr std::int64_t kWorthwhileBytes = 16 << 20;
  const auto num_free = [] { return static_cast<std::int64_t>(mallinfo2().fordblks); };
  const bool trims = num_free() - free_bytes_ >= kWorthwhileBytes;
  if (trims) malloc_trim(0);
  // What lies between blocks in use stays in malloc's lists without pages: it counts as before.
  free_bytes_ = num_free();
  return trims;
}

void return_large_blocks() { mallopt(M_MMAP_THRESHOLD, 1 << 20); }

}  // namespace sluice
