// The objects of OpenAI's API: "text_completion", "chat.completion" and "chat.completion.chunk".
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "http/completions/logprobs_text.h"
#include "http/completions/text_format.h"
#include "http/completions/tools.h"
#include "http/openai_error.h"

namespace sluice::http {
namespace {

using Json = nlohmann::ordered_json;
using completions::Ending;
using completions::Piece;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Clients read it in logs; nothing finds a text by it.
std::string make_id(std::string_view prefix) {
  std::random_device random;
  return fmt::format("{}-{:08x}{:08x}{:08x}", prefix, random(), random(), random());
}

/// Mistral's templates take no other ids than nine letters and digits; all clients take any.
std::string make_call_id() {
  std::random_device random;
  return fmt::format("{:08x}{:x}", random(), random() & 0xFU);
}

bool is_space(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

const char* reason_of(const Ending& ending) { return ending.is_stop ? "stop" : "length"; }

class OpenAi final : public TextFormat {
 public:
  explicit OpenAi(OpenAiFormat options)
      : options_(std::move(options)),
        id_(make_id(options_.is_chat ? "chatcmpl" : "cmpl")),
        created_(unix_time_seconds()),
        choices_(options_.num_prompts * options_.choices_per_prompt,
                 Choice(options_.is_chat, options_.tool_use)) {}

  std::string whole(std::span<const std::string> texts, std::span<const Ending> endings) override {
    std::string choices;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (i > 0) choices += ',';
      choices += whole_choice(i, texts[i], endings[i]);
    }
    return object(options_.is_chat ? "chat.completion" : "text_completion", choices,
                  usage_of(endings));
  }
  void note(std::size_t choice, const Piece& piece) override {
    choices_[choice].logprobs.add(piece);
  }

  std::string begin(std::size_t choice) override {
    if (!options_.is_chat) return {};
    return chunk(choice, {{"role", "assistant"}, {"content", ""}}, nullptr);
  }
  std::string piece(std::size_t choice, const Piece& piece) override {
    note(choice, piece);
    if (!options_.is_chat) return chunk(choice, piece.text, nullptr);
    const std::string shown = choices_[choice].calls.add(piece.text);
    return chat_chunks(choice, shown);
  }
  std::string end(std::size_t choice, const Ending& ending) override {
    std::string events;
    if (options_.is_chat) {
      const std::string shown = choices_[choice].calls.finish();
      events = chat_chunks(choice, shown);
    }
    return events +
           chunk(choice, options_.is_chat ? Json::object() : Json(""), reason(choice, ending));
  }
  std::string finish(std::span<const Ending> endings) override {
    std::string events;
    if (options_.includes_usage) events = event(object(chunk_kind(), "", usage_of(endings)));
    return events + event("[DONE]");
  }
  std::string fail(const Status& status) override { return event(openai_error(status).text); }

 private:
  struct Choice {
    Choice(bool is_chat, ToolUse use) : logprobs(is_chat), calls(use) {}

    LogprobsText logprobs;
    ToolCallReader calls;
    int num_calls = 0;
  };

  /// Usage of all choices; a prompt counts once, however many choices it has.
  Json usage_of(std::span<const Ending> endings) const {
    std::int64_t num_prompt_tokens = 0;
    std::int64_t num_cached_tokens = 0;
    std::int64_t num_tokens = 0;
    for (std::size_t i = 0; i < endings.size(); ++i) {
      num_tokens += endings[i].num_tokens;
      if (i % options_.choices_per_prompt != 0) continue;
      num_prompt_tokens += endings[i].num_prompt_tokens;
      num_cached_tokens += endings[i].num_cached_tokens;
    }
    return {{"prompt_tokens", num_prompt_tokens},
            {"prompt_tokens_details", {{"cached_tokens", num_cached_tokens}}},
            {"completion_tokens", num_tokens},
            {"total_tokens", num_prompt_tokens + num_tokens}};
  }
  Json reason(std::size_t choice, const Ending& ending) const {
    return choices_[choice].num_calls > 0 && ending.is_stop ? "tool_calls" : reason_of(ending);
  }
  std::string whole_choice(std::size_t choice, std::string_view text, const Ending& ending) {
    if (!options_.is_chat) return write_choice(choice, "text", text, reason_of(ending));
    ToolCallReader& reader = choices_[choice].calls;
    std::string content = reader.add(text);
    content += reader.finish();
    Json calls = take_calls(choice);
    Json message = {{"role", "assistant"}, {"content", content}, {"refusal", nullptr}};
    if (!calls.empty()) {
      for (Json& call : calls) call.erase("index");  // of events alone
      if (is_space(content)) message["content"] = nullptr;
      message["tool_calls"] = std::move(calls);
    }
    return write_choice(choice, "message", message, reason(choice, ending));
  }
  /// Those since the last time, in OpenAI's form.
  Json take_calls(std::size_t choice) {
    Json calls = Json::array();
    for (const ToolCall& call : choices_[choice].calls.take_calls()) {
      Json function = {{"name", call.name}, {"arguments", call.arguments}};
      calls.push_back({{"index", choices_[choice].num_calls++},
                       {"id", make_call_id()},
                       {"type", "function"},
                       {"function", std::move(function)}});
    }
    return calls;
  }
  /// Chunks of a chat: what may be shown, and the calls that are whole.
  std::string chat_chunks(std::size_t choice, const std::string& shown) {
    std::string events;
    if (!shown.empty()) events += chunk(choice, {{"content", shown}}, nullptr);
    Json calls = take_calls(choice);
    if (!calls.empty()) events += chunk(choice, {{"tool_calls", std::move(calls)}}, nullptr);
    return events;
  }

  const char* chunk_kind() const {
    return options_.is_chat ? "chat.completion.chunk" : "text_completion";
  }
  /// With the log probabilities since the last one.
  std::string write_choice(std::size_t choice, const char* key, const Json& content,
                           const Json& reason) {
    return fmt::format(R"({{"index":{},"{}":{},"logprobs":{},"finish_reason":{}}})", choice, key,
                       dump(content), choices_[choice].logprobs.take(), dump(reason));
  }
  /// Written as text, since log probabilities may be megabytes of it. `usage`: nullopt for none.
  std::string object(const char* kind, const std::string& choices,
                     const std::optional<Json>& usage) const {
    std::string text =
        fmt::format(R"({{"id":"{}","object":"{}","created":{},"model":{},"choices":[)", id_, kind,
                    created_, dump(options_.model));
    text += choices;
    text += ']';
    if (usage) text += fmt::format(R"(,"usage":{})", dump(*usage));
    text += '}';
    return text;
  }
  std::string chunk(std::size_t choice, const Json& delta, const Json& reason) {
    const std::string written =
        write_choice(choice, options_.is_chat ? "delta" : "text", delta, reason);
    return event(object(chunk_kind(), written,
                        options_.includes_usage ? std::optional<Json>(nullptr) : std::nullopt));
  }

  const OpenAiFormat options_;
  const std::string id_;
  const std::int64_t created_;
  std::vector<Choice> choices_;
};

}  // namespace

std::string event(std::string_view data) { return fmt::format("data: {}\n\n", data); }

std::unique_ptr<TextFormat> make_openai_format(OpenAiFormat options) {
  return std::make_unique<OpenAi>(std::move(options));
}

}  // namespace sluice::http
