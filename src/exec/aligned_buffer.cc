#include "exec/aligned_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/checked.h"

namespace sluice::exec {

void FreeBuffer::operator()(void* data) const {
  if (pages != nullptr) {
    pages->give_back(data, size_bytes);
  } else {
    std::free(data);  // NOLINT: pairs with aligned_alloc
  }
}

Status AlignedBuffer::reserve(std::int64_t size_bytes) {
  if (data_ != nullptr && size_bytes <= size_bytes_) return ok_status();
  constexpr std::int64_t kLineBytes = 64;
  const bool is_large = size_bytes >= HugePages::kPageBytes;
  if (auto pages = is_large ? HugePages::of_process() : nullptr) {
    if (void* memory = pages->take(size_bytes)) {
      data_ = {memory, FreeBuffer{std::move(pages), size_bytes}};
      size_bytes_ = size_bytes;
      return ok_status();
    }
  }
  const std::int64_t alignment = is_large ? HugePages::kPageBytes : kLineBytes;
  const auto rounded = checked_align(size_bytes > 0 ? size_bytes : 1, alignment);
  void* memory = rounded ? std::aligned_alloc(static_cast<std::size_t>(alignment),
                                              static_cast<std::size_t>(*rounded))
                         : nullptr;
  if (memory == nullptr) {
    return make_error(Code::kResourceExhausted, "no memory for a buffer of {} bytes", size_bytes);
  }
  if (is_large) {
    ::madvise(memory, static_cast<std::size_t>(*rounded), MADV_HUGEPAGE);  // a wish only
  }
  data_ = {memory, FreeBuffer{}};
  size_bytes_ = size_bytes;
  return ok_status();
}

Status AlignedBuffer::grow(std::int64_t size_bytes, std::int64_t used_bytes) {
  if (data_ != nullptr && size_bytes <= size_bytes_) return ok_status();
  AlignedBuffer larger;
  SLUICE_TRY(larger.reserve(std::max(size_bytes, size_bytes_ + size_bytes_ / 2)));
  if (used_bytes > 0) std::memcpy(larger.data(), data(), static_cast<std::size_t>(used_bytes));
  std::swap(*this, larger);
  return ok_status();
}

}  // namespace sluice::exec
