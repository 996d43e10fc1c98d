// Vectors of texts, or scores of pairs, by a model in this process.
//
//     auto embedder = Embedder::create(model, tokenizer);
//     auto vectors = embedder->run(texts);   // f32[texts, width]
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "embed/text_model.h"
#include "exec/loaded_model.h"
#include "terms/tensors/tensor.h"
#include "text/encoding.h"
#include "text/tokenizer.h"

namespace sluice::embed {

/// Used by one thread at a time. Keeps the model alive.
class Embedder {
 public:
  /// Fails: as TextModel::read.
  static Result<Embedder> create(const exec::LoadedModel& model, text::Tokenizer tokenizer);

  const TextModel& model() const { return model_; }
  /// A vector for each text, [texts, width].
  /// Fails: kInvalidArgument for a model of scores; as TextModel::encode and `run`, naming the text
  ///        by its place.
  Result<std::vector<float>> vectors(std::span<const std::string_view> texts);
  /// How well each document answers the query.
  /// Fails: kInvalidArgument for a model of vectors; as above.
  Result<std::vector<float>> scores(std::string_view query,
                                    std::span<const std::string_view> documents);
  /// A vector of `width` numbers for each text, or a score, in their order.
  /// Fails: as exec::Context::run.
  Result<std::vector<float>> run(std::span<const text::Encoding> texts);

 private:
  Embedder(exec::Context context, TextModel model)
      : context_(std::move(context)), model_(std::move(model)) {}

  exec::Context context_;
  TextModel model_;
};

/// Copies what a run gave, f32[texts, size], to the texts' places in `all`.
/// Fails: kDataLoss for another number of rows, and for numbers that are not finite.
Status put_rows(const std::vector<std::size_t>& texts, const terms::TensorView& result,
                std::size_t size, std::vector<float>& all);

}  // namespace sluice::embed
