// A prefix tree over bytes: which of many texts does a text begin with?
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/vocabulary/pair_map.h"

namespace sluice::text {

/// Built once, then immutable and safe across threads. The values are chosen by the user.
class Trie {
 public:
  /// Texts are searched at each byte, so the longest key bounds the work for one.
  static constexpr std::size_t kMaxKeyBytes = 1024;

  /// A key that comes again gets the later value. Requires: value >= 0; a key has bytes.
  /// Fails: kInvalidArgument for a key over kMaxKeyBytes.
  Status add(std::string_view key, std::int32_t value);

  /// Calls `take(bytes, value)` for each key that `text` begins with, the shortest first.
  template <typename Take>
  void for_each_prefix(std::string_view text, const Take& take) const {
    std::uint32_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const std::uint32_t* next = child(node, text[i]);
      if (next == nullptr) return;
      node = *next;
      if (values_[node] >= 0) take(i + 1, values_[node]);
    }
  }

  bool may_begin(char byte) const { return begins_[static_cast<unsigned char>(byte)]; }
  bool is_empty() const { return values_.size() == 1; }

 private:
  const std::uint32_t* child(std::uint32_t node, char byte) const {
    return children_.find(PairMap<std::uint32_t>::key(node, static_cast<unsigned char>(byte)));
  }

  PairMap<std::uint32_t> children_;
  std::vector<std::int32_t> values_ = {-1};  ///< of each node; -1: no key ends there
  bool begins_[256] = {};
};

}  // namespace sluice::text
