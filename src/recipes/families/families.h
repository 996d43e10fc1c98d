// Families of models: which settings of config.json each has, and what they mean.
#pragma once

#include "recipes/parts/decoder.h"
#include "recipes/parts/encoder.h"
#include "recipes/parts/settings.h"

namespace sluice::recipes {

/// Llama 1 to 3, SmolLM and others that call themselves so.
DecoderShape read_llama(Settings& settings);
/// As Llama, where a file that says nothing means other numbers.
DecoderShape read_as_llama(Settings& settings, const DecoderDefaults& defaults);
/// As Llama, with a window of positions.
DecoderShape read_mistral(Settings& settings);
/// As Llama, with biases of queries, keys and values.
DecoderShape read_qwen2(Settings& settings);
/// As Llama, with norms of each head's queries and keys.
DecoderShape read_qwen3(Settings& settings);
/// Refuses the settings of a window that no published model of Qwen and SmolLM switches on.
void require_full_attention(Settings& settings);

/// As Mistral, with experts.
DecoderShape read_mixtral(Settings& settings);
/// As Qwen 2, with routed experts in some layers and a shared expert beside them.
DecoderShape read_qwen2_moe(Settings& settings);
/// As Qwen 3, with experts in some layers.
DecoderShape read_qwen3_moe(Settings& settings);

/// Layer normalization, learned positions, a product without a gate, matrices [in, out].
DecoderShape read_gpt2(Settings& settings);
/// As Llama, with joined matrices, windows, and parts of heads that turn.
DecoderShape read_phi3(Settings& settings);
/// As Llama, with layers that do not turn.
DecoderShape read_smollm3(Settings& settings);

/// Norms around 1, GELU, scaled rows of the input's table.
DecoderShape read_gemma(Settings& settings);
/// As Gemma, with norms behind each part, windows in every other layer, and bounded scores.
DecoderShape read_gemma2(Settings& settings);
/// As Gemma 2, with head norms instead of bounds, and layers with windows that turn otherwise.
DecoderShape read_gemma3(Settings& settings);

/// BERT, MiniLM and others that call themselves so.
EncoderShape read_bert(Settings& settings);
/// As BERT, with positions behind padding. XLM-RoBERTa, too.
EncoderShape read_roberta(Settings& settings);
/// As BERT, without types of tokens.
EncoderShape read_distilbert(Settings& settings);

}  // namespace sluice::recipes
