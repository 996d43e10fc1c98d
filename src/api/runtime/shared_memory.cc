#include "api/runtime/shared_memory.h"

#include <sys/mman.h>

namespace sluice::api {

Result<SharedMemory> allocate_pages(std::int64_t size_bytes) {
  if (size_bytes <= 0) {
    return invalid_argument("shared memory has {} bytes: at least one is needed", size_bytes);
  }
  const auto size = static_cast<std::size_t>(size_bytes);
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return make_error(Code::kResourceExhausted, "no memory for {} bytes to share", size_bytes);
  }
  return SharedMemory{
      {static_cast<std::byte*>(data), size},
      std::shared_ptr<const void>(data, [size](void* pages) { munmap(pages, size); })};
}

}  // namespace sluice::api
