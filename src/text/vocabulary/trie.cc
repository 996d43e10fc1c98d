#include "text/vocabulary/trie.h"

namespace sluice::text {

Status Trie::add(std::string_view key, std::int32_t value) {
  if (key.size() > kMaxKeyBytes) {
    return invalid_argument("a token of {} bytes; at most {} are read", key.size(), kMaxKeyBytes);
  }
  begins_[static_cast<unsigned char>(key[0])] = true;
  std::uint32_t node = 0;
  for (const char byte : key) {
    const std::uint64_t edge = PairMap<std::uint32_t>::key(node, static_cast<unsigned char>(byte));
    const std::uint32_t* next = children_.find(edge);
    if (next != nullptr) {
      node = *next;
      continue;
    }
    node = static_cast<std::uint32_t>(values_.size());
    children_[edge] = node;
    values_.push_back(-1);
  }
  values_[node] = value;
  return ok_status();
}

}  // namespace sluice::text
