// Tensors of strings: as files and callers have them, and as kernels do.
//
// Outside a run, n strings are n + 1 offsets of 8 bytes followed by the bytes they delimit: one
// piece that can be mapped or sent. In a run each is a `sluice_text`, an element like any other.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/byte_budget.h"
#include "base/result.h"
#include "ir/attribute.h"
#include "sluice/backend.h"

namespace sluice::backend {

/// Elements that point into the constant's bytes, which must outlive them.
/// Fails: kInvalidArgument for offsets that descend or lie outside the bytes.
Result<std::vector<sluice_text>> decode_texts(const ir::Constant& constant);

/// Bytes that `encode_texts` writes. Fails: kInternal for a negative size, a kernel's mistake.
Result<std::int64_t> encoded_bytes(std::span<const sluice_text> texts);

/// Offsets, then bytes. Requires: `encoded` has `encoded_bytes` bytes.
void encode_texts(std::span<const sluice_text> texts, std::span<std::byte> encoded);

/// Memory for the texts of one run, charged to a budget. Allocation is safe across threads.
class TextPool {
 public:
  /// Requires: `budget` is not null.
  explicit TextPool(std::shared_ptr<ByteBudget> budget);
  TextPool(const TextPool&) = delete;
  TextPool& operator=(const TextPool&) = delete;

  /// What a binding names. Lives as long as this.
  sluice_text_pool* get() { return &handle_; }
  /// Null if there is no memory, or the budget refuses it.
  char* allocate(std::int64_t size_bytes);
  /// Ends the life of everything allocated. Keeps one block for the next run.
  void reset();

 private:
  struct Block {
    ByteCharge charge;  // ends after the memory
    std::unique_ptr<char[]> memory;
  };
  static constexpr std::int64_t kBlockBytes = std::int64_t{1} << 16;

  sluice_text_pool handle_;
  const std::shared_ptr<ByteBudget> budget_;
  std::mutex mutex_;
  std::vector<Block> blocks_;  ///< of small texts
  std::vector<Block> large_;
  std::int64_t used_bytes_ = kBlockBytes;  ///< of the last block
};

}  // namespace sluice::backend
