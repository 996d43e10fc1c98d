// The tokens of a GGUF file.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::recipes {

/// "tokenizer.ggml.token_type".
enum class TokenKind : std::uint8_t {
  kNormal = 1,
  kUnknown,
  kControl,
  kUserDefined,
  kUnused,
  kByte,
};

struct Vocabulary {
  std::vector<std::string> pieces;  ///< by id
  std::vector<TokenKind> kinds;     ///< as many
  /// Ids by role: "bos", "eos", "unknown", "padding".
  std::map<std::string, std::int64_t, std::less<>> special;

  /// Null without a token of that role.
  const std::string* find_special(std::string_view role) const {
    const auto found = special.find(role);
    return found == special.end() ? nullptr : &pieces[static_cast<std::size_t>(found->second)];
  }
};

/// Fails: kInvalidArgument, naming the key.
Result<Vocabulary> read_vocabulary(const nlohmann::json& metadata);

/// Pairs of tokens whose concatenation is a token, in the order in which they merge: the one that
/// makes the token with the highest "tokenizer.ggml.scores" first.
/// Fails: kInvalidArgument for a count of scores unlike that of tokens, and for more than 2^22
/// pairs.
Result<nlohmann::json> merges_by_score(const nlohmann::json& metadata,
                                       const Vocabulary& vocabulary);

/// A list, which lives as long as the metadata.
/// Fails: kInvalidArgument for a key that is missing or no list of texts.
Result<const nlohmann::json*> texts_of(const nlohmann::json& metadata, const char* key);
/// The fallback for a missing key, and for one of another kind.
std::string text_or(const nlohmann::json& metadata, const char* key, std::string_view fallback);
bool flag_or(const nlohmann::json& metadata, const char* key, bool fallback);

}  // namespace sluice::recipes
