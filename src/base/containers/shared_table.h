// A table whose copies share what they have in common.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace sluice {

/// A value per index; a copy shares all of them, and a change copies the block around the entry. So
/// tables that differ in few entries cost few bytes.
///
/// A table is changed by its creator first, then frozen, and copied from then on, by any thread. A
/// copy may be changed and frozen again.
template <typename T>
class SharedTable {
 public:
  SharedTable() = default;
  SharedTable(const SharedTable& other) : size_(other.size_), blocks_(other.blocks_) {}
  SharedTable& operator=(const SharedTable& other) { return *this = SharedTable(other); }
  SharedTable(SharedTable&&) noexcept = default;
  SharedTable& operator=(SharedTable&&) noexcept = default;
  /// Entries are T().
  explicit SharedTable(std::size_t size) : size_(size), blocks_((size + kBlock - 1) / kBlock) {
    const auto empty = std::make_shared<Block>();
    for (std::shared_ptr<Block>& block : blocks_) block = empty;
  }

  std::size_t size() const { return size_; }
  const T& operator[](std::size_t index) const {
    return (*blocks_[index / kBlock])[index % kBlock];
  }

  /// Invalidates references to entries near `index`.
  void set(std::size_t index, T value) {
    const std::size_t at = index / kBlock;
    if (is_own_.empty()) is_own_.resize(blocks_.size());
    if (!is_own_[at]) blocks_[at] = std::make_shared<Block>(*blocks_[at]);
    is_own_[at] = true;
    (*blocks_[at])[index % kBlock] = std::move(value);
  }
  void freeze() { is_own_.clear(); }

  /// Bytes of the table itself, and of blocks that `other` does not share.
  std::size_t bytes_beside(const SharedTable& other) const {
    std::size_t bytes = blocks_.size() * sizeof(blocks_[0]);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const bool is_shared = i < other.blocks_.size() && blocks_[i] == other.blocks_[i];
      bytes += is_shared ? 0 : sizeof(Block);
    }
    return bytes;
  }

 private:
  static constexpr std::size_t kBlock = 16;
  using Block = std::array<T, kBlock>;

  std::size_t size_ = 0;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::vector<bool> is_own_;  // by block: this table alone has it; empty: none
};

}  // namespace sluice
