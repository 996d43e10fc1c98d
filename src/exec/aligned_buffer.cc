#include "exec/aligned_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/checked.h"

namespace sluice::exec {
namespace {

constexpr std::int64_t kLineBytes = 64;
/// What a tensor takes beside its elements: dimensions, owners, the allocator's header. Without it
/// a sequence of millions of empty tensors would cost nothing.
constexpr std::int64_t kBookkeepingBytes = 192;

}  // namespace

void FreeBuffer::operator()(void* data) const {
  if (pages != nullptr) {
    pages->give_back(data, size_bytes);
  } else {
    std::free(data);  // NOLINT: pairs with aligned_alloc
  }
  if (budget != nullptr) budget->release(charged_bytes);
}

Status AlignedBuffer::reserve(std::int64_t size_bytes) {
  if (data_ != nullptr && size_bytes <= size_bytes_) return ok_status();
  data_ = nullptr;  // before the larger one is charged and allocated
  size_bytes_ = 0;
  const bool is_large = size_bytes >= HugePages::kPageBytes;
  const std::int64_t alignment = is_large ? HugePages::kPageBytes : kLineBytes;
  const auto rounded = checked_align(size_bytes > 0 ? size_bytes : 1, alignment);
  if (!rounded) {
    return make_error(Code::kResourceExhausted, "no memory for a buffer of {} bytes", size_bytes);
  }
  FreeBuffer free = {nullptr, size_bytes, MemoryScope::budget(), *rounded + kBookkeepingBytes};
  if (free.budget != nullptr) SLUICE_TRY(free.budget->charge(free.charged_bytes));
  void* memory = nullptr;
  if (auto pages = is_large ? HugePages::of_process() : nullptr) {
    memory = pages->take(size_bytes);
    if (memory != nullptr) free.pages = std::move(pages);
  }
  if (memory == nullptr) {
    memory =
        std::aligned_alloc(static_cast<std::size_t>(alignment), static_cast<std::size_t>(*rounded));
    if (memory != nullptr && is_large) {
      ::madvise(memory, static_cast<std::size_t>(*rounded),
                MADV_HUGEPAGE);  // advisory: a failure changes nothing
    }
  }
  if (memory == nullptr) {
    if (free.budget != nullptr) free.budget->release(free.charged_bytes);
    return make_error(Code::kResourceExhausted, "no memory for a buffer of {} bytes", size_bytes);
  }
  data_ = {memory, std::move(free)};
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

void AlignedBuffer::end_charge() {
  if (data_ == nullptr) return;
  FreeBuffer& free = data_.get_deleter();
  if (free.budget != nullptr) std::exchange(free.budget, nullptr)->release(free.charged_bytes);
}

}  // namespace sluice::exec
