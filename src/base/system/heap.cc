#include "base/system/heap.h"

#include <malloc.h>

namespace sluice {

std::int64_t heap_bytes() {
  const auto use = mallinfo2();
  return static_cast<std::int64_t>(use.uordblks + use.hblkhd);
}

void return_large_blocks() { mallopt(M_MMAP_THRESHOLD, 1 << 20); }

}  // namespace sluice
