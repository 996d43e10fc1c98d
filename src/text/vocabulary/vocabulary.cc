#include "text/vocabulary/vocabulary.h"

#include <xxhash.h>

#include <bit>
#include <limits>

namespace sluice::text {
namespace {

std::uint64_t hash_of(std::string_view piece) { return XXH3_64bits(piece.data(), piece.size()); }

std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32U); }

}  // namespace

std::size_t Vocabulary::slot_of(std::string_view piece, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  const std::uint32_t tag = tag_of(hash);
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.entry < 0) return at;
    if (slot.tag == tag && text_of(entries_[static_cast<std::size_t>(slot.entry)]) == piece) {
      return at;
    }
  }
}

void Vocabulary::grow(std::size_t slots) {
  slots_.assign(slots, Slot{});
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::string_view piece = text_of(entries_[i]);
    const std::uint64_t hash = hash_of(piece);
    slots_[slot_of(piece, hash)] = {tag_of(hash), static_cast<std::int32_t>(i)};
  }
}

void Vocabulary::reserve(std::size_t pieces, std::size_t bytes) {
  bytes_.reserve(bytes);
  entries_.reserve(pieces);
  const std::size_t slots = std::bit_ceil(2 * pieces + 1);
  if (slots > slots_.size()) grow(slots);
}

Status Vocabulary::add(std::string_view piece, std::int64_t id) {
  if (id < 0 || id >= kMaxTokenId) {
    return invalid_argument("the id {} of a token is not between 0 and {}", id, kMaxTokenId - 1);
  }
  if (bytes_.size() + piece.size() > std::numeric_limits<std::uint32_t>::max()) {
    return invalid_argument("the tokens of the vocabulary have more than 4 GiB");
  }
  if (2 * (entries_.size() + 1) > slots_.size()) grow(std::max<std::size_t>(16, 2 * slots_.size()));
  const std::uint64_t hash = hash_of(piece);
  Slot& slot = slots_[slot_of(piece, hash)];
  if (slot.entry < 0) {
    slot = {tag_of(hash), static_cast<std::int32_t>(entries_.size())};
    entries_.push_back({static_cast<std::uint32_t>(bytes_.size()),
                        static_cast<std::uint32_t>(piece.size()), TokenId()});
    bytes_ += piece;
  }
  const auto index = static_cast<std::size_t>(id);
  if (index >= by_id_.size()) by_id_.resize(index + 1, -1);
  by_id_[index] = slot.entry;
  entries_[static_cast<std::size_t>(slot.entry)].id = TokenId(index);
  return ok_status();
}

TokenId Vocabulary::find(std::string_view piece) const {
  if (slots_.empty()) return {};
  const Slot& slot = slots_[slot_of(piece, hash_of(piece))];
  return slot.entry < 0 ? TokenId() : entries_[static_cast<std::size_t>(slot.entry)].id;
}

std::optional<std::string_view> Vocabulary::piece(TokenId id) const {
  if (!id.is_valid() || id.index() >= by_id_.size()) return std::nullopt;
  const std::int32_t entry = by_id_[id.index()];
  if (entry < 0) return std::nullopt;
  return text_of(entries_[static_cast<std::size_t>(entry)]);
}

}  // namespace sluice::text
