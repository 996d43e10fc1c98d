#include "embed/embedder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "embed/batches.h"

namespace sluice::embed {

Result<Embedder> Embedder::create(const exec::LoadedModel& model, text::Tokenizer tokenizer) {
  auto read =
      SLUICE_TRY(TextModel::read(model.executable(), model.signature(), std::move(tokenizer)));
  auto context = SLUICE_TRY(model.create_context());
  return Embedder(std::move(context), std::move(read));
}

Result<std::vector<float>> Embedder::vectors(std::span<const std::string_view> texts) {
  if (model_.scores())
    return invalid_argument("the model scores pairs of texts, it has no vectors");
  std::vector<text::Encoding> encoded;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto one = model_.encode(texts[i]);
    encoded.push_back(SLUICE_TRY(std::move(one).with_context(fmt::format("text {}", i))));
  }
  return run(encoded);
}

Result<std::vector<float>> Embedder::scores(std::string_view query,
                                            std::span<const std::string_view> documents) {
  if (!model_.scores()) return invalid_argument("the model makes vectors of texts, not scores");
  const auto query_ids = SLUICE_TRY(model_.read_query(query).with_context("query"));
  std::vector<text::Encoding> encoded;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    auto one = model_.encode_pair(query_ids, documents[i]);
    encoded.push_back(SLUICE_TRY(std::move(one).with_context(fmt::format("document {}", i))));
  }
  return run(encoded);
}

Result<std::vector<float>> Embedder::run(std::span<const text::Encoding> texts) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(1, model_.ports.width));
  std::vector<float> all(texts.size() * size);
  for (const Batch& batch : plan_batches(texts, model_.facts)) {
    Rows rows(batch, texts, model_.facts);
    for (const auto& [input, view] : rows.inputs(model_.ports)) {
      SLUICE_TRY(context_.set_input(input, view));
    }
    SLUICE_TRY(context_.run());
    const terms::TensorView& result = context_.output(model_.ports.result);
    SLUICE_TRY(put_rows(batch.texts, result, size, all));
  }
  return all;
}

Status put_rows(const std::vector<std::size_t>& texts, const terms::TensorView& result,
                std::size_t size, std::vector<float>& all) {
  // A package may compute a shape that its signature does not tell.
  const std::size_t bytes = texts.size() * size * sizeof(float);
  if (result.element != ir::ElementType::kF32 || std::cmp_not_equal(result.size_bytes, bytes)) {
    return make_error(Code::kDataLoss, "the model gave {} for {} texts",
                      terms::type_of(result).to_string(), texts.size());
  }
  const auto* numbers = static_cast<const float*>(result.data);
  const auto is_finite = [](float number) { return std::isfinite(number); };
  if (!std::all_of(numbers, numbers + texts.size() * size, is_finite)) {
    return make_error(Code::kDataLoss, "the model computes numbers that are not finite");
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::copy_n(numbers + i * size, size,
                all.begin() + static_cast<std::ptrdiff_t>(texts[i] * size));
  }
  return ok_status();
}

}  // namespace sluice::embed
