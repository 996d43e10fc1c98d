// The objects of OpenAI's API: "text_completion", "chat.completion" and "chat.completion.chunk".
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ctime>
#include <random>

#include "base/utf8.h"
#include "http/completions/text_format.h"

namespace sluice::http {
namespace {

using Json = nlohmann::ordered_json;
using completions::Ending;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Clients read it in logs; nothing finds a text by it.
std::string make_id(std::string_view prefix) {
  std::random_device random;
  return fmt::format("{}-{:08x}{:08x}{:08x}", prefix, random(), random(), random());
}

Json usage_of(const Ending& ending) {
  return {{"prompt_tokens", ending.num_prompt_tokens},
          {"completion_tokens", ending.num_tokens},
          {"total_tokens", ending.num_prompt_tokens + ending.num_tokens}};
}

const char* reason_of(const Ending& ending) { return ending.is_stop ? "stop" : "length"; }

std::string_view kind_of(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    default: return status < 500 ? "invalid_request_error" : "server_error";
  }
}

Json error_json(const Status& status) {
  Json code;
  if (status.code() == Code::kNotFound) code = "model_not_found";
  if (status.code() == Code::kOutOfRange) code = "context_length_exceeded";
  return {{"error",
           {{"message", valid_utf8(status.message())},
            {"type", kind_of(http_status(status.code()))},
            {"param", nullptr},
            {"code", std::move(code)}}}};
}

class OpenAi final : public TextFormat {
 public:
  explicit OpenAi(OpenAiFormat options)
      : options_(std::move(options)),
        id_(make_id(options_.is_chat ? "chatcmpl" : "cmpl")),
        created_(std::time(nullptr)) {}

  std::string whole(std::string_view text, const Ending& ending) override {
    Json choice = {{"index", 0}};
    if (options_.is_chat) {
      choice["message"] = {{"role", "assistant"}, {"content", text}, {"refusal", nullptr}};
    } else {
      choice["text"] = text;
    }
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = reason_of(ending);
    Json all = head(options_.is_chat ? "chat.completion" : "text_completion");
    all["choices"] = Json::array({std::move(choice)});
    all["usage"] = usage_of(ending);
    return dump(all);
  }

  std::string begin() override {
    if (!options_.is_chat) return {};
    return chunk({{"role", "assistant"}, {"content", ""}}, nullptr);
  }
  std::string piece(std::string_view text) override {
    if (!options_.is_chat) return chunk(text, nullptr);
    return chunk({{"content", text}}, nullptr);
  }
  std::string end(const Ending& ending) override {
    if (!ending.status.is_ok()) return event(dump(error_json(ending.status)));
    std::string events =
        chunk(options_.is_chat ? Json::object() : Json(""), Json(reason_of(ending)));
    if (options_.includes_usage) {
      Json last = head(chunk_kind());
      last["choices"] = Json::array();
      last["usage"] = usage_of(ending);
      events += event(dump(last));
    }
    return events + event("[DONE]");
  }

 private:
  const char* chunk_kind() const {
    return options_.is_chat ? "chat.completion.chunk" : "text_completion";
  }
  Json head(const char* kind) const {
    return {{"id", id_}, {"object", kind}, {"created", created_}, {"model", options_.model}};
  }
  std::string chunk(Json delta, Json reason) const {
    Json choice = {{"index", 0}};
    choice[options_.is_chat ? "delta" : "text"] = std::move(delta);
    choice["logprobs"] = nullptr;
    choice["finish_reason"] = std::move(reason);
    Json all = head(chunk_kind());
    all["choices"] = Json::array({std::move(choice)});
    if (options_.includes_usage) all["usage"] = nullptr;
    return event(dump(all));
  }

  const OpenAiFormat options_;
  const std::string id_;
  const std::int64_t created_;
};

}  // namespace

std::string event(std::string_view data) { return fmt::format("data: {}\n\n", data); }

std::unique_ptr<TextFormat> make_openai_format(OpenAiFormat options) {
  return std::make_unique<OpenAi>(std::move(options));
}

Reply openai_error(const Status& status) {
  Reply reply;
  reply.status = http_status(status.code());
  reply.text = dump(error_json(status));
  return reply;
}

}  // namespace sluice::http
