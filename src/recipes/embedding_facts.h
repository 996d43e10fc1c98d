// What a model makes of texts, as a fact of its graph.
#pragma once

#include <string>

#include "recipes/parts/encoder.h"
#include "recipes/parts/pooling.h"

namespace sluice::recipes {

/// The key of the graph's metadata.
inline constexpr const char* kEmbeddingFact = "sluice.embedding";

/// A JSON object: "context", the most tokens of a text, special ones included; "padding", the id of
/// the token that fills up; "normalized", whether vectors have length 1.
std::string embedding_facts(const EncoderShape& shape, const Pooling& pooling);

}  // namespace sluice::recipes
