// A GGUF file's metadata and tensors under the names that a folder of Hugging Face has.
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "weights/weights.h"

namespace sluice::recipes {

/// The config.json that the keys of the file's architecture stand for. Rows of queries and keys of
/// "llama" lie in pairs that turn together, which `rope_interleaved` says. A tensor `rope_freqs`
/// becomes the factors of `rope_scaling`.
/// Fails: kInvalidArgument  a key that is missing or wrong
///        kUnimplemented    an architecture or a key of it that no recipe knows, by name; a file
///                          that is one of several
Result<nlohmann::json> gguf_config(const nlohmann::json& metadata, const weights::Weights& weights);

/// What generation_config.json would say of sampling.
nlohmann::json gguf_sampling(const nlohmann::json& metadata);

/// The same weights by the names of transformers; a name that it does not know stays.
/// Fails: as architecture_of
Result<weights::Weights> with_names_of_transformers(const nlohmann::json& metadata,
                                                    const weights::Weights& weights);

}  // namespace sluice::recipes
