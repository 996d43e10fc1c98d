// Answers of vectors and scores, as clients of OpenAI, Jina and Cohere read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "http/embeddings/embedding_call.h"

namespace sluice::http {

/// Cuts vectors [texts, width] to `dimensions` numbers each; `is_normalized`: to length 1 again.
/// Requires: 1 <= dimensions <= width.
std::vector<float> cut_vectors(const std::vector<float>& vectors, std::int64_t width,
                               std::int64_t dimensions, bool is_normalized);

/// {"object": "list", "data": [{"object": "embedding", ...}, ...], ...}. `vectors`: [texts, width].
std::string embedding_json(const EmbeddingCall& call, const std::vector<float>& vectors,
                           std::int64_t width, std::int64_t num_tokens);

/// {"results": [{"index": 2, "relevance_score": 0.9}, ...], ...}: the best first, of equal ones the
/// earlier. `scores`: of each document.
std::string rerank_json(const RerankCall& call, const std::vector<float>& scores,
                        std::int64_t num_tokens);

/// Bytes of the answer at most: of so many vectors, or of scores.
std::int64_t answer_bytes(std::int64_t num_texts, std::int64_t width);
std::int64_t answer_bytes(const RerankCall& call);

}  // namespace sluice::http
