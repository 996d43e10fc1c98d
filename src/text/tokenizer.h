// Text to tokens and back, as a Hugging Face tokenizer.json says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/encoding.h"
#include "text/vocabulary/token_id.h"

namespace sluice::text {

struct EncodeOptions {
  /// Puts the special tokens around the text that the file's post-processor wants.
  bool adds_special_tokens = true;
  /// Reads "<|im_end|>" in the text as that token. False for text that is not trusted: its special
  /// tokens are ordinary characters then.
  bool finds_special_tokens = true;
};

struct DecodeOptions {
  bool skips_special_tokens = true;
  /// Bytes that form no character stay in the text, which is no UTF-8 then.
  bool keeps_bytes = false;
};

/// Immutable; copies share one tokenizer, which is safe across threads.
///
/// Tokens equal those of the Python package `tokenizers`. The truncation and padding of a file are
/// not applied: how long a text may be is the caller's to decide.
class Tokenizer {
 public:
  /// `json`: the file's bytes; they may go afterwards.
  /// Fails: kInvalidArgument for a damaged file, or more than 256 MiB;
  ///        kUnimplemented, by name, for a kind of part that is not supported.
  static Result<Tokenizer> read(std::string_view json);

  /// Fails: kInvalidArgument for what is not UTF-8, more than 16 MiB, or an unknown character where
  ///        the file has no token for those; kResourceExhausted if an expression of the file takes
  ///        too many steps.
  Result<std::vector<TokenId>> encode(std::string_view text,
                                      const EncodeOptions& options = {}) const;
  /// Encodes one text, or two that a model compares; `second` is null for one. Fails: as above.
  Result<Encoding> encode_pair(std::string_view first, const std::string_view* second,
                               const EncodeOptions& options = {}) const;
  /// The parts of `encode_pair`, for a text that stands in many pairs: a text's own tokens, without
  /// special ones around it, and their joining. Fails: as above.
  Result<std::vector<TokenId>> read_tokens(std::string_view text,
                                           const EncodeOptions& options = {}) const;
  Encoding join(const std::vector<TokenId>& first, const std::vector<TokenId>* second,
                const EncodeOptions& options = {}) const;

  /// Valid UTF-8 by default: bytes that form no character become U+FFFD. Ids that are no token are
  /// left out.
  Result<std::string> decode(std::span<const TokenId> ids, const DecodeOptions& options = {}) const;

  /// Tokens of the model and added ones.
  std::size_t vocabulary_size() const;
  /// One more than the largest id.
  std::size_t end_id() const;
  /// As the file spells it: "Ġthe". Not valid if there is none.
  TokenId find_token(std::string_view piece) const;
  /// The view lives as long as a copy of the tokenizer.
  std::optional<std::string_view> find_piece(TokenId id) const;
  /// Whether decoding leaves the token out by default.
  bool is_special(TokenId id) const;

 private:
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts);

  std::shared_ptr<const Parts> parts_;
};

/// Turns tokens into text as they come, in whole characters: of a sequence that is being generated.
/// One thread at a time. What it returns in a row is the tokenizer's `decode` of all tokens.
class StreamDecoder {
 public:
  explicit StreamDecoder(Tokenizer tokenizer, const DecodeOptions& options = {})
      : tokenizer_(std::move(tokenizer)), options_(options) {}

  /// The text that is complete with this token; often empty in the middle of a character.
  Result<std::string> add(TokenId id);
  /// The rest: U+FFFD for a character that never was whole. The decoder begins anew.
  Result<std::string> finish();
  /// The bytes that a token would add behind those so far, which may be part of a character. A
  /// special token is spelled, too. Changes nothing.
  Result<std::string> spell(TokenId id) const;
  /// Characters of the text before the next token, those that wait included.
  Result<std::int64_t> num_characters() const;

 private:
  Tokenizer tokenizer_;
  DecodeOptions options_;
  std::vector<TokenId> ids_;  ///< the last tokens whose text is out, and those whose text is not
  std::size_t num_out_ = 0;   ///< of ids_: tokens whose text is out
  std::string out_;           ///< their text
  std::int64_t num_characters_ = 0;  ///< of all text that is out
};

}  // namespace sluice::text
