// The functions of sluice/generate.h for embedders.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "api/context_control.h"
#include "api/last_error.h"
#include "api/model.h"
#include "embed/embedder.h"
#include "sluice/generate.h"

struct sluice_embedder {
  std::shared_ptr<const sluice::api::OpenModel> open;
  sluice::embed::Embedder embedder;
  sluice::api::ContextControl control = {};
};

namespace sluice::api {
namespace {

Result<std::vector<std::string_view>> views_of(const char* const* texts, std::size_t count) {
  if (texts == nullptr && count > 0) return null_argument("texts");
  std::vector<std::string_view> views;
  for (std::size_t i = 0; i < count; ++i) {
    if (texts[i] == nullptr) return null_argument("a text");
    views.emplace_back(texts[i]);
  }
  return views;
}

Status embed(sluice_embedder& from, const char* const* texts, std::size_t count, float* to) {
  const auto views = SLUICE_TRY(views_of(texts, count));
  const auto vectors = SLUICE_TRY(from.embedder.vectors(views));
  std::ranges::copy(vectors, to);
  return ok_status();
}

Status score(sluice_embedder& from, const char* query, const char* const* documents,
             std::size_t count, float* to) {
  const auto views = SLUICE_TRY(views_of(documents, count));
  const auto scores = SLUICE_TRY(from.embedder.scores(query, views));
  std::ranges::copy(scores, to);
  return ok_status();
}

}  // namespace
}  // namespace sluice::api

using sluice::api::ContextUse;
using sluice::api::guard;
using sluice::api::null_argument;

int32_t sluice_embedder_create(sluice_model* model, sluice_embedder** embedder) {
  return guard([&]() -> sluice::Status {
    if (embedder == nullptr) return null_argument("embedder");
    *embedder = nullptr;
    if (model == nullptr) return null_argument("model");
    const sluice::exec::LoadedModel& loaded = model->open->loaded;
    if (!sluice::embed::is_text_model(loaded.executable())) {
      return sluice::invalid_argument("the model makes no vectors of texts and no scores");
    }
    auto tokenizer = SLUICE_TRY(model->open->language->tokenizer());
    auto made = SLUICE_TRY(sluice::embed::Embedder::create(loaded, std::move(tokenizer)));
    *embedder = new sluice_embedder{model->open, std::move(made)};
    return sluice::ok_status();
  });
}

void sluice_embedder_free(sluice_embedder* embedder) { delete embedder; }

int64_t sluice_embedder_width(const sluice_embedder* embedder) {
  return embedder == nullptr ? 0 : embedder->embedder.model().ports.width;
}

int64_t sluice_embedder_context(const sluice_embedder* embedder) {
  return embedder == nullptr ? 0 : embedder->embedder.model().facts.context;
}

int32_t sluice_embedder_embed(sluice_embedder* embedder, const char* const* texts, size_t num_texts,
                              float* vectors) {
  return guard([&]() -> sluice::Status {
    if (embedder == nullptr) return null_argument("embedder");
    // A model of scores has vectors without numbers; the call says so.
    const bool has_numbers = num_texts > 0 && sluice_embedder_width(embedder) > 0;
    if (vectors == nullptr && has_numbers) return null_argument("vectors");
    const auto use = SLUICE_TRY(ContextUse::take(embedder->control));
    return sluice::api::embed(*embedder, texts, num_texts, vectors);
  });
}

int32_t sluice_embedder_score(sluice_embedder* embedder, const char* query,
                              const char* const* documents, size_t num_documents, float* scores) {
  return guard([&]() -> sluice::Status {
    if (embedder == nullptr || query == nullptr) return null_argument("embedder or query");
    if (scores == nullptr && num_documents > 0) return null_argument("scores");
    const auto use = SLUICE_TRY(ContextUse::take(embedder->control));
    return sluice::api::score(*embedder, query, documents, num_documents, scores);
  });
}
