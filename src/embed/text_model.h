// What a package says about vectors of texts, and scores of pairs of texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "package/executable.h"
#include "terms/tensors/signature.h"
#include "text/encoding.h"
#include "text/tokenizer.h"
#include "text/vocabulary/token_id.h"

namespace sluice::embed {

/// The key of a package's metadata; its value is a JSON object (recipes/embedding_facts.h).
inline constexpr const char* kFact = "sluice.embedding";

struct Facts {
  std::int64_t context = 0;    ///< the most tokens of a text, special ones included
  std::int64_t padding = 0;    ///< the id of the token that fills up
  bool is_normalized = false;  ///< vectors have length 1
};

/// Places in the signature of a model that a recipe made (recipes/parts/encoder.h).
struct Ports {
  std::size_t ids = 0;               ///< input, i64[texts, tokens], as are the next two
  std::size_t mask = 0;              ///< input
  std::optional<std::size_t> types;  ///< input, of models with types of tokens
  std::size_t result = 0;            ///< output, f32[texts, width], or f32[texts] of scores
  std::int64_t width = 0;            ///< of a vector; 0: the model scores pairs
};

/// What becomes of a text with more tokens than fit.
struct Length {
  std::int64_t most_own_tokens = 0;  ///< without special ones; behind so many it is cut; 0: not
  bool is_cut_to_context = false;    ///< else it is refused
};

/// Whether the model of a package makes vectors or scores.
bool is_text_model(const package::Executable& executable);

/// What computing needs beside the model. Immutable.
struct TextModel {
  Facts facts;
  Ports ports;
  text::Tokenizer tokenizer;

  /// `tokenizer`: of the package. Fails: kInvalidArgument for a model of another kind.
  static Result<TextModel> read(const package::Executable& executable,
                                const terms::Signature& signature, text::Tokenizer tokenizer);

  bool scores() const { return ports.width == 0; }

  /// The tokens of a text.
  /// Fails: kOutOfRange for more tokens than the context, naming both numbers; as the tokenizer.
  Result<text::Encoding> encode(std::string_view text, Length length = {}) const;
  /// A query's own tokens: it is read once, for all its documents. Fails: as `encode`.
  Result<std::vector<text::TokenId>> read_query(std::string_view query) const;
  /// The tokens of a pair; `query`: of `read_query`. Only the document is cut. Fails: as `encode`.
  Result<text::Encoding> encode_pair(const std::vector<text::TokenId>& query,
                                     std::string_view document, Length length = {}) const;
  /// Tokens that the caller made. Fails: as `encode`; kInvalidArgument for none, or an id that is
  /// no token's.
  Result<text::Encoding> check(std::span<const std::int64_t> ids) const;
};

}  // namespace sluice::embed
