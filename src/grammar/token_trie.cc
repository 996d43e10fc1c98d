#include "grammar/token_trie.h"

#include <algorithm>

namespace sluice::grammar {
namespace {

/// A token whose text stands for itself: behind it others have the bytes that they have within a
/// text, where some tokenizers leave a space out at the begin.
Status begin_text(const text::Tokenizer& tokenizer, text::StreamDecoder& decoder) {
  for (std::size_t i = 0; i < tokenizer.end_id(); ++i) {
    const text::TokenId id(i);
    const auto piece = tokenizer.find_piece(id);
    if (!piece || *piece != "a" || tokenizer.is_special(id)) continue;
    const std::string shown = SLUICE_TRY(decoder.add(id));
    return ok_status();
  }
  return ok_status();
}

}  // namespace

Result<TokenTrie> TokenTrie::create(const text::Tokenizer& tokenizer) {
  text::StreamDecoder decoder(tokenizer);
  SLUICE_TRY(begin_text(tokenizer, decoder));
  std::vector<std::string> tokens(tokenizer.end_id());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const text::TokenId id(i);
    if (!tokenizer.find_piece(id) || tokenizer.is_special(id)) continue;
    tokens[i] = SLUICE_TRY(decoder.spell(id));
  }
  return TokenTrie(tokens);
}

TokenTrie::TokenTrie(const std::vector<std::string>& tokens) {
  for (const std::string& token : tokens) {
    offsets_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    if (token.size() > kMaxTokenBytes) continue;
    bytes_ += token;
    if (!token.empty()) ids_.push_back(static_cast<std::int32_t>(offsets_.size()) - 1);
  }
  offsets_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  std::ranges::stable_sort(ids_, {}, [&](std::int32_t id) { return bytes(id); });

  std::vector<std::size_t> path;  // nodes from the root to the last token's
  const auto close = [&](std::size_t depth) {
    for (; path.size() > depth; path.pop_back()) {
      nodes_[path.back()].end = static_cast<std::uint32_t>(nodes_.size());
    }
  };
  std::string_view former;
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const std::string_view token = bytes(ids_[i]);
    const auto common = std::ranges::mismatch(former, token).in2 - token.begin();
    close(static_cast<std::size_t>(common));
    for (std::size_t at = path.size(); at < token.size(); ++at) {
      path.push_back(nodes_.size());
      nodes_.push_back({static_cast<std::uint8_t>(token[at]), static_cast<std::uint16_t>(at + 1), 0,
                        static_cast<std::uint32_t>(i)});
    }
    former = token;
  }
  close(0);
  nodes_.push_back({0, 0, 0, static_cast<std::uint32_t>(ids_.size())});
}

std::string_view TokenTrie::bytes(std::int64_t token) const {
  if (token < 0 || token >= static_cast<std::int64_t>(end_id())) return {};
  const auto index = static_cast<std::size_t>(token);
  return std::string_view(bytes_).substr(offsets_[index], offsets_[index + 1] - offsets_[index]);
}

std::size_t TokenTrie::size_bytes() const {
  return nodes_.size() * sizeof(Node) + ids_.size() * sizeof(std::int32_t) + bytes_.size() +
         offsets_.size() * sizeof(std::uint32_t);
}

}  // namespace sluice::grammar
