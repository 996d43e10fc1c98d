// Pieces of text and their ids, in both directions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/vocabulary/token_id.h"

namespace sluice::text {

/// All pieces lie in one string. Built once, then immutable and safe across threads.
class Vocabulary {
 public:
  /// Makes room for pieces of so many bytes altogether.
  void reserve(std::size_t pieces, std::size_t bytes);
  /// A piece that comes again gets the later id; an id that comes again names the later piece.
  /// Fails: kInvalidArgument for an id outside [0, kMaxTokenId), or 4 GiB of pieces.
  Status add(std::string_view piece, std::int64_t id);

  /// Not valid if no piece is `piece`.
  TokenId find(std::string_view piece) const;
  std::optional<std::string_view> piece(TokenId id) const;

  std::size_t size() const { return entries_.size(); }
  /// One more than the largest id.
  std::size_t end_id() const { return by_id_.size(); }

 private:
  struct Entry {
    std::uint32_t offset;
    std::uint32_t size;
    TokenId id;
  };
  struct Slot {
    std::uint32_t tag = 0;  ///< some bits of the hash, so that most misses touch no piece
    std::int32_t entry = -1;
  };

  std::string_view text_of(const Entry& entry) const {
    return std::string_view(bytes_).substr(entry.offset, entry.size);
  }
  /// The slot that holds `piece`, or the free one where it belongs.
  std::size_t slot_of(std::string_view piece, std::uint64_t hash) const;
  void grow(std::size_t slots);

  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  ///< a power of two, at most half full
  std::vector<std::int32_t> by_id_;
};

}  // namespace sluice::text
