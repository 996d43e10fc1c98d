// Immutable bytes with shared ownership: a mapped file's slice or a heap buffer, never copied.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace sluice {

/// A read-only view that keeps its memory alive. Copying shares; safe across threads.
class Bytes {
 public:
  Bytes() = default;
  Bytes(std::shared_ptr<const void> owner, std::span<const std::byte> view)
      : owner_(std::move(owner)), view_(view) {}

  /// Takes the vector's memory.
  static Bytes own(std::vector<std::byte> data) {
    auto owner = std::make_shared<const std::vector<std::byte>>(std::move(data));
    const std::span<const std::byte> view(owner->data(), owner->size());
    return Bytes(std::move(owner), view);
  }

  const std::byte* data() const { return view_.data(); }
  std::size_t size() const { return view_.size(); }
  std::span<const std::byte> view() const { return view_; }
  /// Requires: offset + size <= this->size().
  Bytes slice(std::size_t offset, std::size_t size) const {
    return Bytes(owner_, view_.subspan(offset, size));
  }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> view_;
};

/// New memory, written once and then frozen. Zeroed. Running out of memory ends the process.
class MutableBytes {
 public:
  /// Requires: `alignment` is a power of two.
  explicit MutableBytes(std::size_t size, std::size_t alignment = 64)
      : owner_(static_cast<std::byte*>(::operator new (size, std::align_val_t{alignment})),
               [alignment](std::byte* data) {
                 ::operator delete (data, std::align_val_t{alignment});
               }),
        size_(size) {
    if (size > 0) std::memset(owner_.get(), 0, size);
  }

  static MutableBytes copy_of(std::span<const std::byte> bytes) {
    MutableBytes copy(bytes.size());
    if (!bytes.empty()) std::memcpy(copy.view().data(), bytes.data(), bytes.size());
    return copy;
  }

  std::span<std::byte> view() { return {owner_.get(), size_}; }
  Bytes freeze() && {
    const std::span<const std::byte> view(owner_.get(), size_);
    return Bytes(std::move(owner_), view);
  }

 private:
  std::shared_ptr<std::byte> owner_;
  std::size_t size_;
};

}  // namespace sluice
