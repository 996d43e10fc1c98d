#include "http/embeddings/embedding_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <span>
#include <string_view>

#include "base/text/base64.h"
#include "http/json_text.h"

namespace sluice::http {
namespace {

/// "-1.2345678e-38" and a comma.
constexpr std::int64_t kNumberBytes = 16;
/// Bytes around a vector or a score.
constexpr std::int64_t kEntryBytes = 128;

void append_vector(std::string& text, std::span<const float> vector, bool is_base64) {
  if (is_base64) {
    const std::string_view bytes(reinterpret_cast<const char*>(vector.data()), vector.size_bytes());
    text += '"' + encode_base64(bytes) + '"';
    return;
  }
  text += '[';
  for (std::size_t i = 0; i < vector.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{}{}", i == 0 ? "" : ",", vector[i]);
  }
  text += ']';
}

}  // namespace

std::vector<float> cut_vectors(const std::vector<float>& vectors, std::int64_t width,
                               std::int64_t dimensions, bool is_normalized) {
  const auto from = static_cast<std::size_t>(width), to = static_cast<std::size_t>(dimensions);
  std::vector<float> cut;
  cut.reserve(vectors.size() / from * to);
  for (std::size_t at = 0; at < vectors.size(); at += from) {
    const auto first = std::span(vectors).subspan(at, to);
    double square = 0;
    for (const float number : first) square += static_cast<double>(number) * number;
    const double length = is_normalized && square > 0 ? std::sqrt(square) : 1;
    for (const float number : first) cut.push_back(static_cast<float>(number / length));
  }
  return cut;
}

std::string embedding_json(const EmbeddingCall& call, const std::vector<float>& vectors,
                           std::int64_t width, std::int64_t num_tokens) {
  const auto size = static_cast<std::size_t>(width);
  std::string text = R"({"object":"list","data":[)";
  for (std::size_t i = 0; i * size < vectors.size(); ++i) {
    text +=
        fmt::format(R"({}{{"object":"embedding","index":{},"embedding":)", i == 0 ? "" : ",", i);
    append_vector(text, std::span(vectors).subspan(i * size, size), call.is_base64);
    text += '}';
  }
  text += fmt::format(R"(],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})",
                      json_text(call.model), num_tokens, num_tokens);
  return text;
}

std::string rerank_json(const RerankCall& call, const std::vector<float>& scores,
                        std::int64_t num_tokens) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const auto count = static_cast<std::int64_t>(order.size());
  order.resize(static_cast<std::size_t>(std::min(count, call.top_n.value_or(count))));
  std::string text = fmt::format(R"({{"model":{},"results":[)", json_text(call.model));
  for (const std::size_t i : order) {
    text += fmt::format(R"({}{{"index":{},"relevance_score":{})", i == order.front() ? "" : ",", i,
                        scores[i]);
    if (call.returns_documents) {
      text += fmt::format(R"(,"document":{{"text":{}}})", json_text(call.documents[i]));
    }
    text += '}';
  }
  text += fmt::format(R"(],"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})", num_tokens,
                      num_tokens);
  return text;
}

std::int64_t answer_bytes(std::int64_t num_texts, std::int64_t width) {
  return num_texts * (width * kNumberBytes + kEntryBytes);
}

std::int64_t answer_bytes(const RerankCall& call) {
  std::int64_t bytes = answer_bytes(std::ssize(call.documents), 1);
  if (!call.returns_documents) return bytes;
  // Escapes make a text up to six times as long.
  for (const std::string& document : call.documents) bytes += std::ssize(json_text(document));
  return bytes;
}

}  // namespace sluice::http
