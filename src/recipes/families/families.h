// Families of models: which settings of config.json each has, and what they mean.
#pragma once

#include "recipes/parts/decoder.h"
#include "recipes/parts/settings.h"

namespace sluice::recipes {

/// Llama 1 to 3, SmolLM and others that call themselves so.
DecoderShape read_llama(Settings& settings);
/// As Llama, with a window of positions.
DecoderShape read_mistral(Settings& settings);
/// As Llama, with biases of queries, keys and values.
DecoderShape read_qwen2(Settings& settings);
/// As Llama, with norms of each head's queries and keys.
DecoderShape read_qwen3(Settings& settings);

}  // namespace sluice::recipes
