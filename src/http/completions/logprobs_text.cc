#include "http/completions/logprobs_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/utf8.h"
#include "http/json_text.h"

namespace sluice::http {
namespace {

using completions::Piece;
using completions::SpelledLogprob;

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_character_bytes(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

/// JSON of a token's text.
std::string spelled(const std::string& bytes) {
  if (is_utf8(bytes)) return json_text(bytes);
  std::string text = "bytes:";
  for (const char byte : bytes) {
    text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return json_text(text);
}

/// JSON has no infinity; -9999 is OpenAI's number for what cannot be.
float finite(float logprob) { return std::max(logprob, -9999.0F); }

std::string fields_of(const SpelledLogprob& token) {
  std::string bytes;
  for (const char byte : token.bytes) {
    bytes += fmt::format("{}{}", bytes.empty() ? "" : ",", static_cast<unsigned char>(byte));
  }
  return fmt::format(R"("token":{},"logprob":{},"bytes":[{}])", spelled(token.bytes),
                     finite(token.logprob), bytes);
}

}  // namespace

void LogprobsText::add(const Piece& piece) {
  if (piece.logprobs.empty()) return;
  if (is_chat_) {
    add_to_chat(piece);
  } else {
    add_to_completion(piece);
  }
  is_empty_ = false;
}

void LogprobsText::add_to_chat(const Piece& piece) {
  const auto& logprobs = piece.logprobs;
  if (!is_empty_) content_ += ',';
  content_ += '{' + fields_of(logprobs.front()) + R"(,"top_logprobs":[)";
  for (std::size_t i = 1; i < logprobs.size(); ++i) {
    content_ += (i == 1 ? "{" : ",{") + fields_of(logprobs[i]) + '}';
  }
  content_ += "]}";
}

void LogprobsText::add_to_completion(const Piece& piece) {
  if (!is_empty_) {
    for (std::string* list : {&tokens_, &values_, &tops_, &offsets_}) *list += ',';
  }
  const auto& logprobs = piece.logprobs;
  const SpelledLogprob& chosen = logprobs.front();
  tokens_ += spelled(chosen.bytes);
  values_ += fmt::format("{}", finite(chosen.logprob));
  offsets_ += fmt::format("{}", piece.offset);
  // A key once: tokens of one spelling are one text, and the likeliest counts.
  std::set<std::string> keys;
  tops_ += '{';
  for (std::size_t i = 0; i < logprobs.size(); ++i) {
    const SpelledLogprob& token = logprobs[(i + 1) % logprobs.size()];  // the chosen one last
    std::string key = spelled(token.bytes);
    if (keys.contains(key)) continue;
    tops_ += fmt::format("{}{}:{}", keys.empty() ? "" : ",", key, finite(token.logprob));
    keys.insert(std::move(key));
  }
  tops_ += '}';
}

std::string LogprobsText::take() {
  if (is_empty_) return "null";
  is_empty_ = true;
  std::string text =
      is_chat_
          ? fmt::format(R"({{"content":[{}],"refusal":null}})", content_)
          : fmt::format(
                R"({{"tokens":[{}],"token_logprobs":[{}],"top_logprobs":[{}],"text_offset":[{}]}})",
                tokens_, values_, tops_, offsets_);
  for (std::string* list : {&content_, &tokens_, &values_, &tops_, &offsets_}) list->clear();
  return text;
}

}  // namespace sluice::http
