// The text that a chat model reads: messages, laid out as its authors' template says.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sluice::text {

/// What a template sees. Objects keep the order of their fields, which `tojson` shows.
struct Chat {
  /// [{"role": "user", "content": "Hello"}, ..]; further fields are handed on as they are.
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  /// A list of tools in OpenAI's form, or null.
  nlohmann::ordered_json tools = {};
  /// What else the template may read: {"enable_thinking": false}.
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
  /// The text ends with the begin of the assistant's answer.
  bool adds_generation_prompt = true;
  /// Time of `strftime_now`, since 1970; absent: now.
  std::optional<std::int64_t> time_seconds = {};
};

/// A JSON list of messages, or an object with "messages", "tools", "add_generation_prompt" and, by
/// any other name, what else the template reads. Fields keep their order.
/// Fails: kInvalidArgument for what is no such JSON, or more than 64 lists and objects deep.
Result<Chat> parse_chat(std::string_view json);

/// The files of a model's folder; empty: the folder has none.
struct ChatFiles {
  std::string_view template_file = {};     ///< chat_template.jinja; comes first
  std::string_view tokenizer_config = {};  ///< tokenizer_config.json: chat_template, bos_token, ..
  std::string_view special_tokens = {};    ///< special_tokens_map.json
};

/// Immutable; copies share one template, which is safe across threads.
///
/// The text equals that of transformers' `apply_chat_template`. It has the special tokens that the
/// model wants, so it is encoded without adding any. Time, memory, depth and length of a rendering
/// are bounded (jinja/values/work.h).
class ChatTemplate {
 public:
  /// Fails: kNotFound        no file has a template
  ///        kInvalidArgument a damaged file; a template that is no Jinja, with its line
  ///        kUnimplemented   a part of Jinja that is not supported, by name
  static Result<ChatTemplate> read(const ChatFiles& files);

  /// Fails: kInvalidArgument   what the template raises, in its words; an operation on values that
  ///                           it does not take, with its line
  ///        kResourceExhausted too many steps, too deep, or too long a text
  Result<std::string> render(const Chat& chat) const;

 private:
  struct Parts;
  explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const Parts> parts_;
};

}  // namespace sluice::text
