// Tokens that are found in a text before a model sees it, such as <|im_start|>.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/json/field.h"
#include "text/vocabulary/trie.h"
#include "text/vocabulary/vocabulary.h"

namespace sluice::text {

struct AddedToken {
  TokenId id;
  std::string content;
  std::string
      normalized;  ///< as a normalized text has it; the content if the token is not normalized
  bool is_special = false;
  bool is_single_word = false;  ///< not beside other word characters
  bool strips_left = false;     ///< takes white space before it
  bool strips_right = false;
  bool is_normalized = false;  ///< found in the normalized text, not in the given one
};

/// A stretch of a text: one added token, or what lies between two.
struct Stretch {
  std::size_t begin;
  std::size_t end;
  TokenId token;  ///< not valid: text
};

/// Built once, then immutable and safe across threads.
class AddedTokens {
 public:
  /// `normalize`: what a text becomes before its normalized tokens are found.
  /// Fails: kInvalidArgument for a token of more than 1024 bytes, or an id out of range.
  using Normalize = std::function<Status(std::string& text)>;
  static Result<AddedTokens> read(const Field& list, const Vocabulary& model,
                                  const Normalize& normalize);

  /// Cuts `text` at tokens: the longest of those that begin first. The stretches cover the text.
  std::vector<Stretch> find(std::string_view text, bool in_normalized_text,
                            bool finds_special_tokens) const;

  const AddedToken* find_id(TokenId id) const;
  const AddedToken* find_content(std::string_view content) const;
  std::size_t end_id() const { return by_id_.size(); }

 private:
  Status add(AddedToken token);

  std::vector<AddedToken> tokens_;
  std::vector<std::int32_t> by_id_;
  Vocabulary contents_;  ///< content -> id
  Trie given_;           ///< values: indices of tokens_
  Trie normalized_;
};

}  // namespace sluice::text
