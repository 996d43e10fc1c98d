#include "grammar/rules/character_set.h"

#include <algorithm>

namespace sluice::grammar {
namespace {

constexpr char32_t kMost = 0x10FFFF;
constexpr CharacterRange kSurrogates = {0xD800, 0xDFFF};

/// The bytes of a character that has `size` bytes.
std::array<std::uint8_t, 4> encode(char32_t c, std::size_t size) {
  constexpr std::array<std::uint8_t, 5> kLead = {0, 0x00, 0xC0, 0xE0, 0xF0};
  std::array<std::uint8_t, 4> bytes = {};
  for (std::size_t i = size; i-- > 1; c >>= 6U) {
    bytes[i] = static_cast<std::uint8_t>(0x80U | (c & 0x3FU));
  }
  bytes[0] = static_cast<std::uint8_t>(kLead[size] | c);
  return bytes;
}

/// Requires: both ends have `size` bytes. Cuts where a range of one byte would not be followed by
/// all later bytes.
void take_aligned(CharacterRange range, std::size_t size, const TakeByteRanges& take) {
  for (std::size_t i = 1; i < size; ++i) {
    const char32_t low = (char32_t{1} << (6 * i)) - 1;  // the bits of the last i bytes
    if ((range.first & ~low) == (range.last & ~low)) continue;
    if ((range.first & low) != 0) {
      take_aligned({range.first, range.first | low}, size, take);
      return take_aligned({(range.first | low) + 1, range.last}, size, take);
    }
    if ((range.last & low) != low) {
      take_aligned({range.first, (range.last & ~low) - 1}, size, take);
      return take_aligned({range.last & ~low, range.last}, size, take);
    }
  }
  const auto first = encode(range.first, size);
  const auto last = encode(range.last, size);
  std::array<ByteRange, 4> ranges = {};
  for (std::size_t i = 0; i < size; ++i) ranges[i] = {first[i], last[i]};
  take(std::span(ranges).first(size));
}

}  // namespace

CharacterSet::CharacterSet(std::initializer_list<CharacterRange> ranges) {
  for (const CharacterRange& range : ranges) add(range);
}

CharacterSet CharacterSet::all() {
  return {{0, kSurrogates.first - 1}, {kSurrogates.last + 1, kMost}};
}

void CharacterSet::add(CharacterRange range) {
  if (range.first <= kSurrogates.last && range.last >= kSurrogates.first) {
    if (range.first < kSurrogates.first) add({range.first, kSurrogates.first - 1});
    if (range.last > kSurrogates.last) add({kSurrogates.last + 1, range.last});
    return;
  }
  const auto begin = std::ranges::partition_point(
      ranges_, [&](const CharacterRange& other) { return other.last + 1 < range.first; });
  auto end = begin;
  for (; end != ranges_.end() && end->first <= range.last + 1; ++end) {
    range.first = std::min(range.first, end->first);
    range.last = std::max(range.last, end->last);
  }
  ranges_.insert(ranges_.erase(begin, end), range);
}

void CharacterSet::add(const CharacterSet& other) {
  for (const CharacterRange& range : other.ranges_) add(range);
}

CharacterSet CharacterSet::without(const CharacterSet& other) const {
  CharacterSet left;
  for (CharacterRange range : ranges_) {
    bool is_gone = false;
    for (const CharacterRange& taken : other.ranges_) {
      if (taken.last < range.first || taken.first > range.last) continue;
      if (taken.first > range.first) left.ranges_.push_back({range.first, taken.first - 1});
      is_gone = taken.last >= range.last;
      if (is_gone) break;
      range.first = taken.last + 1;
    }
    if (!is_gone) left.ranges_.push_back(range);
  }
  return left;
}

void for_each_utf8_sequence(CharacterRange range, const TakeByteRanges& take) {
  constexpr std::array<char32_t, 4> kLast = {0x7F, 0x7FF, 0xFFFF, kMost};
  for (std::size_t i = 0; i < kLast.size() && range.first <= range.last; ++i) {
    if (range.first > kLast[i]) continue;
    take_aligned({range.first, std::min(range.last, kLast[i])}, i + 1, take);
    range.first = kLast[i] + 1;
  }
}

}  // namespace sluice::grammar
