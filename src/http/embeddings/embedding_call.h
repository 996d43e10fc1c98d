// What clients ask of a model that makes vectors or scores of texts, read from JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::http {

/// Limit of one call; a client sends longer lists in parts.
inline constexpr std::size_t kMaxTexts = 2048;

struct EmbeddingCall {
  std::string model;
  std::vector<std::string> texts;              ///< one at least; or
  std::vector<std::vector<std::int64_t>> ids;  ///< their tokens
  bool is_base64 = false;                      ///< of f32, little-endian; else lists of numbers
  std::optional<std::int64_t> dimensions;      ///< the first so many numbers of each vector
  bool is_cut = false;                         ///< a text that is too long; else it is refused
  std::int64_t timeout_us = 0;                 ///< until the answer; 0: none
  std::uint64_t priority = 0;                  ///< as open_inference::InferRequest
};

struct RerankCall {
  std::string model;
  std::string query;
  std::vector<std::string> documents;  ///< one at least
  std::optional<std::int64_t> top_n;   ///< the best so many
  bool returns_documents = false;
  std::optional<std::int64_t> max_tokens_per_doc;  ///< a document is cut behind so many
  bool is_cut = false;  ///< a document that is too long with the query; else it is refused
  std::int64_t timeout_us = 0;
  std::uint64_t priority = 0;
};

/// Bodies of POST /v1/embeddings, as OpenAI's clients send them, and of POST /v1/rerank, as Jina's
/// and Cohere's do. A field that is not known is refused by its name.
/// Fails: as Fields::read; kInvalidArgument naming the field.
Result<EmbeddingCall> read_embedding(std::string_view body);
Result<RerankCall> read_rerank(std::string_view body);

}  // namespace sluice::http
