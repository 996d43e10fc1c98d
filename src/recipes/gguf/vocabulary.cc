#include "recipes/gguf/vocabulary.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"

namespace sluice::recipes {
namespace {

using nlohmann::json;
using Ids = std::unordered_map<std::string_view, std::int64_t>;

/// A vocabulary of 256 thousand tokens has half a million pairs.
constexpr std::size_t kMaxPairs = std::size_t{1} << 22U;
/// SentencePiece makes pieces of 16 characters at most, unless it is told otherwise. Longer ones
/// than this are found as words of the text only if they are added tokens.
constexpr std::size_t kMaxMergedBytes = 256;

/// Two tokens that make a third, as ids.
struct Pair {
  std::int64_t left, right, whole;
};

Result<std::vector<TokenKind>> read_kinds(const json& metadata, std::size_t count) {
  constexpr const char* kKey = "tokenizer.ggml.token_type";
  const auto found = metadata.find(kKey);
  if (found == metadata.end()) return std::vector<TokenKind>(count, TokenKind::kNormal);
  if (!found->is_array() || found->size() != count) {
    return invalid_argument("{}: expected a number for each of {} tokens", kKey, count);
  }
  std::vector<TokenKind> kinds;
  for (const json& kind : *found) {
    const auto number = kind.is_number_integer() ? kind.get<std::int64_t>() : 0;
    if (number < 1 || number > static_cast<std::int64_t>(TokenKind::kByte)) {
      return invalid_argument("{}: token {} is of no kind from 1 to 6", kKey, kinds.size());
    }
    kinds.push_back(static_cast<TokenKind>(number));
  }
  return kinds;
}

Status read_special(const json& metadata, Vocabulary& vocabulary) {
  for (const char* role : {"bos", "eos", "unknown", "padding"}) {
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", role);
    const auto found = metadata.find(key);
    if (found == metadata.end()) continue;
    const bool is_id =
        found->is_number_unsigned() && found->get<std::uint64_t>() < vocabulary.pieces.size();
    if (!is_id) return invalid_argument("{}: expected the id of a token", key);
    vocabulary.special.emplace(role, found->get<std::int64_t>());
  }
  return ok_status();
}

/// Where characters end within a piece: merges never part one.
std::vector<std::size_t> inner_ends(std::string_view piece) {
  std::vector<std::size_t> ends;
  for (std::size_t at = utf8_character_bytes(piece); at < piece.size();) {
    ends.push_back(at);
    at += std::max<std::size_t>(1, utf8_character_bytes(piece.substr(at)));
  }
  return ends;
}

}  // namespace

Result<Vocabulary> read_vocabulary(const json& metadata) {
  constexpr const char* kKey = "tokenizer.ggml.tokens";
  Vocabulary vocabulary;
  const json& texts = *SLUICE_TRY(texts_of(metadata, kKey));
  Ids ids;
  vocabulary.pieces.reserve(texts.size());
  for (const json& text : texts) {
    const auto id = static_cast<std::int64_t>(vocabulary.pieces.size());
    vocabulary.pieces.push_back(text.get<std::string>());
    const auto [known, is_new] = ids.emplace(text.get_ref<const std::string&>(), id);
    if (is_new) continue;
    return invalid_argument("{}: tokens {} and {} are both \"{}\"", kKey, known->second, id,
                            known->first);
  }
  vocabulary.kinds = SLUICE_TRY(read_kinds(metadata, vocabulary.pieces.size()));
  SLUICE_TRY(read_special(metadata, vocabulary));
  return vocabulary;
}

Result<json> merges_by_score(const json& metadata, const Vocabulary& vocabulary) {
  constexpr const char* kKey = "tokenizer.ggml.scores";
  const auto scores = metadata.find(kKey);
  const bool has_scores = scores != metadata.end() && scores->is_array() &&
                          scores->size() == vocabulary.pieces.size() &&
                          std::ranges::all_of(*scores, [](const json& s) { return s.is_number(); });
  if (!has_scores) return invalid_argument("{}: expected a number for each token", kKey);
  Ids ids;  // of tokens that merge
  for (std::size_t i = 0; i < vocabulary.pieces.size(); ++i) {
    const std::string& piece = vocabulary.pieces[i];
    if (vocabulary.kinds[i] != TokenKind::kNormal || piece.size() > kMaxMergedBytes) continue;
    ids.emplace(piece, static_cast<std::int64_t>(i));
  }
  std::vector<Pair> pairs;
  for (const auto& [piece, id] : ids) {
    for (const std::size_t end : inner_ends(piece)) {
      const auto left = ids.find(piece.substr(0, end));
      const auto right = ids.find(piece.substr(end));
      if (left == ids.end() || right == ids.end()) continue;
      if (pairs.size() == kMaxPairs) {
        return invalid_argument("{}: the tokens have more than {} pairs", kKey, kMaxPairs);
      }
      pairs.push_back({left->second, right->second, id});
    }
  }
  std::ranges::sort(pairs, [&](const Pair& a, const Pair& b) {
    const auto score = [&](const Pair& pair) {
      return (*scores)[static_cast<std::size_t>(pair.whole)].get<double>();
    };
    return std::pair(-score(a), std::pair(a.left, a.right)) <
           std::pair(-score(b), std::pair(b.left, b.right));
  });
  json merges = json::array();
  for (const Pair& pair : pairs) {
    merges.push_back({vocabulary.pieces[static_cast<std::size_t>(pair.left)],
                      vocabulary.pieces[static_cast<std::size_t>(pair.right)]});
  }
  return merges;
}

Result<const json*> texts_of(const json& metadata, const char* key) {
  const auto found = metadata.find(key);
  const bool are_texts =
      found != metadata.end() && found->is_array() &&
      std::ranges::all_of(*found, [](const json& text) { return text.is_string(); });
  if (are_texts) return &*found;
  return invalid_argument("{}: expected a list of texts", key);
}

std::string text_or(const json& metadata, const char* key, std::string_view fallback) {
  const auto found = metadata.find(key);
  if (found == metadata.end() || !found->is_string()) return std::string(fallback);
  return found->get<std::string>();
}

bool flag_or(const json& metadata, const char* key, bool fallback) {
  const auto found = metadata.find(key);
  return found == metadata.end() || !found->is_boolean() ? fallback : found->get<bool>();
}

}  // namespace sluice::recipes
