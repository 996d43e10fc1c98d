// What encoders of BERT's kind have in common: blocks of attention in which each token sees all,
// and of a product with a bend, each followed by a norm; and what a model makes of the last block.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ir/graph.h"
#include "recipes/parts/pooling.h"
#include "recipes/parts/settings.h"
#include "weights/weights.h"

namespace sluice::recipes {

/// What a family calls its weights, behind the prefix that its checkpoints share.
struct EncoderNames {
  std::string_view prefix;  ///< "bert."; files of the encoder alone leave it out
  std::string_view layer;   ///< "encoder.layer.{}.", with the layer's number
  std::string_view query, key, value, attention_output, attention_norm;
  std::string_view inner, output, output_norm;
};

/// The head of a classifier, at the first token: a product, a bend, and the product that scores.
struct ScoreHead {
  std::string dense;  ///< name of a weight and a bias
  const char* bend;   ///< operator: "Tanh", "Relu"
  std::string scores;
};

/// Sizes and variations.
struct EncoderShape {
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  std::int64_t inner_width = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t positions = 0;       ///< rows of their table
  std::int64_t first_position = 0;  ///< row of a text's first token
  std::int64_t types = 0;           ///< of tokens; 0: none
  std::int64_t padding = 0;         ///< the id of the token that fills up
  float epsilon = 1e-12F;           ///< of the norms
  std::string bend;                 ///< as transformers names it: "gelu", "relu"
  EncoderNames names;
  std::optional<ScoreHead> head;  ///< of a classifier with one label
  bool is_sigmoid = false;        ///< the score goes through it

  /// The most tokens of a text.
  std::int64_t context() const { return positions - first_position; }
};

/// The graph of a batch of N texts, filled up to S tokens.
///
/// Inputs:  ids i64[N, S]; mask i64[N, S], 1 for tokens and 0 for what fills up;
///          types i64[N, S], for a model with types of tokens.
/// Outputs: vectors f32[N, width], as `pooling` says; or scores f32[N] of a model with a head.
/// Fails: kInvalidArgument  a weight that is missing or of another shape
///        kUnimplemented    a weight that the graph does not read
Result<ir::Graph> make_encoder(const EncoderShape& shape, const Pooling& pooling,
                               const weights::Weights& weights);

}  // namespace sluice::recipes
