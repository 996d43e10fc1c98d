// Reads any bytes as the body of a request for a text or for vectors and scores of texts, in the
// forms of all protocols.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "http/completions/text_call.h"
#include "http/embeddings/embedding_call.h"

namespace {

/// What was read is bounded, and is a prompt.
void check(const sluice::Result<sluice::http::TextCall>& call) {
  if (!call.is_ok()) return;
  bool has_prompt = !call->prompts.empty() || !call->messages.empty();
  for (const sluice::http::Prompt& prompt : call->prompts) {
    has_prompt = has_prompt && prompt.text.empty() != prompt.ids.empty();
  }
  const auto num_prompts =
      static_cast<std::int64_t>(std::max(call->prompts.size(), std::size_t{1}));
  if (call->num_choices < 1 || num_prompts * call->num_choices > sluice::http::kMaxChoices) {
    std::abort();
  }
  // Two lists of texts; and a list of ids beside TensorRT-LLM's one.
  if (!has_prompt || call->stops.size() > 32 || call->stop_ids.size() > 17) std::abort();
  if (call->max_tokens.value_or(0) < 0 || call->timeout_us < 0) std::abort();
  if (call->top_logprobs.value_or(0) < 0 || call->top_logprobs.value_or(0) > 20) std::abort();
  const auto sampling = call->sampling.over({}, 1);
  const auto status = sampling.check();
  (void)status;  // out of range is refused later
}

void check(const sluice::Result<sluice::http::EmbeddingCall>& call) {
  if (!call.is_ok()) return;
  const std::size_t count = call->texts.size() + call->ids.size();
  const bool is_one_kind = call->texts.empty() != call->ids.empty();
  if (!is_one_kind || count > sluice::http::kMaxTexts || call->dimensions.value_or(1) < 1) {
    std::abort();
  }
}

void check(const sluice::Result<sluice::http::RerankCall>& call) {
  if (!call.is_ok()) return;
  const std::size_t count = call->documents.size();
  if (count == 0 || count > sluice::http::kMaxTexts || call->query.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  check(sluice::http::read_completion(body));
  check(sluice::http::read_chat(body));
  check(sluice::http::read_generate(body));
  check(sluice::http::read_embedding(body));
  check(sluice::http::read_rerank(body));
  return 0;
}
