// Sets of characters, and their bytes in UTF-8.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sluice::grammar {

struct CharacterRange {
  char32_t first;
  char32_t last;  ///< included
  bool operator==(const CharacterRange&) const = default;
};

/// Characters of Unicode, without surrogates.
class CharacterSet {
 public:
  CharacterSet() = default;
  CharacterSet(std::initializer_list<CharacterRange> ranges);
  static CharacterSet all();

  void add(CharacterRange range);
  void add(const CharacterSet& other);
  CharacterSet without(const CharacterSet& other) const;
  CharacterSet negated() const { return all().without(*this); }
  CharacterSet within(const CharacterSet& other) const { return without(other.negated()); }

  bool is_empty() const { return ranges_.empty(); }
  /// In order; none touches the next.
  std::span<const CharacterRange> ranges() const { return ranges_; }

 private:
  std::vector<CharacterRange> ranges_;
};

struct ByteRange {
  std::uint8_t first;
  std::uint8_t last;  ///< included
  auto operator<=>(const ByteRange&) const = default;
};

/// The characters of the range in UTF-8: in each call `ranges` are those of up to four bytes in a
/// row.
using TakeByteRanges = std::function<void(std::span<const ByteRange> ranges)>;
void for_each_utf8_sequence(CharacterRange range, const TakeByteRanges& take);

}  // namespace sluice::grammar
