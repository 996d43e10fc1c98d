// Immutable bytes with shared ownership: a mapped file's slice or a heap buffer, never copied.
#pragma once

#include <cstddef>
#include <memory>
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

}  // namespace sluice
