#include "text/added_tokens.h"

#include <algorithm>

#include "text/unicode/characters.h"

namespace sluice::text {
namespace {

bool ends_with_word(std::string_view text) {
  std::size_t end = text.size();
  return end > 0 && is_word(previous_character(text, end));
}

bool begins_with_word(std::string_view text) {
  std::size_t at = 0;
  return !text.empty() && is_word(next_character(text, at));
}

std::size_t skip_space_left(std::string_view text, std::size_t from, std::size_t least) {
  while (from > least) {
    std::size_t before = from;
    if (!is_white_space(previous_character(text, before))) break;
    from = before;
  }
  return std::max(from, least);
}

std::size_t skip_space_right(std::string_view text, std::size_t from) {
  while (from < text.size()) {
    std::size_t behind = from;
    if (!is_white_space(next_character(text, behind))) break;
    from = behind;
  }
  return from;
}

Result<AddedToken> read_token(const Field& field) {
  AddedToken token;
  const Field id = SLUICE_TRY(field.member("id"));
  const std::int64_t number = SLUICE_TRY(id.whole());
  // The bound limits the table by id, which is as long as the largest one.
  if (number < 0 || number >= kMaxTokenId) return id.error("an id that no vocabulary has");
  token.id = TokenId(static_cast<std::int32_t>(number));
  token.content = SLUICE_TRY(field.text_of("content"));
  // Before it is normalized.
  if (token.content.size() > Trie::kMaxKeyBytes) {
    return field.error(fmt::format("a token of {} bytes; at most {} are read", token.content.size(),
                                   Trie::kMaxKeyBytes));
  }
  token.is_special = SLUICE_TRY(field.truth_or("special", false));
  token.is_single_word = SLUICE_TRY(field.truth_or("single_word", false));
  token.strips_left = SLUICE_TRY(field.truth_or("lstrip", false));
  token.strips_right = SLUICE_TRY(field.truth_or("rstrip", false));
  // Special tokens match the text as given, other tokens the normalized text.
  token.is_normalized = SLUICE_TRY(field.truth_or("normalized", !token.is_special));
  token.normalized = token.content;
  return token;
}

}  // namespace

Result<AddedTokens> AddedTokens::read(const Field& list, const Vocabulary& model,
                                      const Normalize& normalize) {
  AddedTokens added;
  const auto items = SLUICE_TRY(list.items());
  for (const Field& item : items) {
    AddedToken token = SLUICE_TRY(read_token(item));
    if (token.content.empty()) continue;
    // The model's vocabulary wins: the file's id may be that of an older vocabulary.
    const TokenId known = model.find(token.content);
    if (known.is_valid()) token.id = known;
    if (token.is_normalized) {
      SLUICE_TRY(normalize(token.normalized).with_context(item.path()));
    }
    SLUICE_TRY(added.add(std::move(token)).with_context(item.path()));
  }
  return added;
}

Status AddedTokens::add(AddedToken token) {
  // A later token of the same id takes the place of the earlier one in the table.
  SLUICE_TRY(contents_.add(token.content, token.id.value()));
  if (token.id.index() >= by_id_.size()) by_id_.resize(token.id.index() + 1, -1);
  const auto index = static_cast<std::int32_t>(tokens_.size());
  by_id_[token.id.index()] = index;
  Trie& trie = token.is_normalized ? normalized_ : given_;
  if (!token.normalized.empty()) SLUICE_TRY(trie.add(token.normalized, index));
  tokens_.push_back(std::move(token));
  return ok_status();
}

std::vector<Stretch> AddedTokens::find(std::string_view text, bool in_normalized_text,
                                       bool finds_special_tokens) const {
  const Trie& trie = in_normalized_text ? normalized_ : given_;
  std::vector<Stretch> stretches;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size() && !trie.is_empty();) {
    std::size_t bytes = 0;
    std::int32_t index = -1;
    if (trie.may_begin(text[at])) {
      // Prefixes come from the shortest to the longest, so the last one wins.
      trie.for_each_prefix(text.substr(at), [&](std::size_t size, std::int32_t value) {
        bytes = size;
        index = value;
      });
    }
    if (index < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<std::size_t>(index)];
    std::size_t begin = at;
    std::size_t end = at + bytes;
    // A match that does not count is passed over as a whole, as the reference implementation does:
    // no shorter token is looked for within it.
    at = end;
    if (token.is_special && !finds_special_tokens) continue;
    if (token.is_single_word &&
        (ends_with_word(text.substr(0, begin)) || begins_with_word(text.substr(end)))) {
      continue;
    }
    // White space that the token before took already is not taken twice.
    if (token.strips_left) begin = skip_space_left(text, begin, std::min(done, begin));
    if (token.strips_right) end = skip_space_right(text, end);
    begin = std::max(begin, done);
    if (done < begin) stretches.push_back({done, begin, {}});
    stretches.push_back({begin, end, token.id});
    done = end;
  }
  if (done < text.size()) stretches.push_back({done, text.size(), {}});
  return stretches;
}

const AddedToken* AddedTokens::find_id(TokenId id) const {
  if (!id.is_valid() || id.index() >= by_id_.size() || by_id_[id.index()] < 0) return nullptr;
  return &tokens_[static_cast<std::size_t>(by_id_[id.index()])];
}

const AddedToken* AddedTokens::find_content(std::string_view content) const {
  return find_id(contents_.find(content));
}

}  // namespace sluice::text
