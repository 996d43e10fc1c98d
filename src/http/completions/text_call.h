// What clients ask of a model that generates texts, read from JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "generate/sampler.h"
#include "grammar/grammars.h"
#include "http/completions/tools.h"

namespace sluice::http {

/// Texts that one request asks for, in all.
inline constexpr std::int64_t kMaxChoices = 128;

struct Prompt {
  std::string text;
  std::vector<std::int64_t> ids = {};  ///< its tokens, instead of the text; empty: none
};

struct TextCall {
  std::string model;                ///< empty: the path says it
  std::string adapter = {};         ///< of the model, as generate::Request
  std::string id;                   ///< of the client, which gets it back; empty: none
  std::vector<Prompt> prompts;      ///< at least one; or
  nlohmann::ordered_json messages;  ///< of a chat, a list; null: none
  std::int64_t num_choices = 1;     ///< of each prompt; in all at most kMaxChoices
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();  ///< of the chat's template
  std::optional<std::int64_t> max_tokens = {};
  generate::WantedSampling sampling = {};  ///< but for its bad words:
  std::vector<std::string> bad_words = {};
  std::vector<std::string> stops = {};
  std::vector<std::int64_t> stop_ids = {};
  std::optional<std::int64_t> top_logprobs = {};  ///< as generate::Request
  grammar::Source grammar = {};                   ///< that the text keeps to
  Tools tools = {};                               ///< of a chat
  bool is_streamed = false;
  bool includes_usage = false;  ///< in a stream
  bool echoes = false;          ///< the text begins with the prompt
  std::int64_t timeout_us = 0;  ///< until the end of the text; 0: none
  std::uint64_t priority = 0;   ///< as open_inference::InferRequest
};

enum class Protocol { kCompletion, kChat, kGenerate };

/// Bodies of POST /v1/completions, of POST /v1/chat/completions, and of Triton's generate routes.
/// A field that nobody knows, or that would change the answer and is not served, is refused by its
/// name.
/// Fails: kInvalidArgument for what is no such JSON, more than 4 MiB, or too deep; kUnimplemented
///        for what is not served.
Result<TextCall> read_completion(std::string_view body);
Result<TextCall> read_chat(std::string_view body);
Result<TextCall> read_generate(std::string_view body);

}  // namespace sluice::http
