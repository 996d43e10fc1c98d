#include "text/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json/json_reader.h"
#include "text/jinja/nodes/render.h"
#include "text/jinja/nodes/statements.h"
#include "text/jinja/syntax/parser.h"
#include "text/jinja/values/print.h"

namespace sluice::text {

struct ChatTemplate::Parts {
  jinja::Block main;
  std::optional<jinja::Block> with_tools;  ///< of files with a template of its own for tools
  std::vector<std::pair<std::string, nlohmann::json>> names;  ///< bos_token, eos_token, ..
};

namespace {

/// The names that templates use for special tokens; others of the file are not variables of a
/// template.
constexpr std::array kTokenNames = {"bos_token", "eos_token", "unk_token", "sep_token",
                                    "pad_token", "cls_token", "mask_token"};

struct Sources {
  std::optional<std::string> main;
  std::optional<std::string> with_tools;
};

Result<nlohmann::json> parse_object(std::string_view text, std::string_view name) {
  if (text.empty()) return nlohmann::json::object();
  auto parsed = parse_json(text);
  nlohmann::json object = SLUICE_TRY(std::move(parsed).with_context(name));
  if (!object.is_object()) return invalid_argument("{}: expected an object", name);
  return object;
}

/// `chat_template`: a text, or a list of named ones, of which "default" and "tool_use" count.
Result<Sources> read_sources(const nlohmann::json& config) {
  Sources sources;
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return sources;
  if (found->is_string()) {
    sources.main = found->get<std::string>();
    return sources;
  }
  const Status wrong = invalid_argument("chat_template: expected a text, or a list of templates");
  if (!found->is_array()) return wrong;
  for (const nlohmann::json& one : *found) {
    const bool is_named = one.is_object() && one.contains("name") && one.contains("template") &&
                          one["name"].is_string() && one["template"].is_string();
    if (!is_named) return wrong;
    if (one["name"] == "default") sources.main = one["template"].get<std::string>();
    if (one["name"] == "tool_use") sources.with_tools = one["template"].get<std::string>();
  }
  return sources;
}

/// Tokens are texts, or objects with a text.
void read_tokens(const nlohmann::json& file,
                 std::vector<std::pair<std::string, nlohmann::json>>& names) {
  for (const char* name : kTokenNames) {
    const auto found = file.find(name);
    if (found == file.end()) continue;
    const nlohmann::json token =
        found->is_object() ? found->value("content", nlohmann::json()) : *found;
    const bool is_known =
        std::ranges::any_of(names, [&](const auto& entry) { return entry.first == name; });
    // The first file with a name wins: tokenizer_config.json comes before special_tokens_map.json.
    if (token.is_string() && !is_known) names.emplace_back(name, token);
  }
}

Status add_variables(const Chat& chat, jinja::Render& render) {
  if (!chat.messages.is_array()) return invalid_argument("messages: expected a list");
  if (!chat.tools.is_null() && !chat.tools.is_array()) {
    return invalid_argument("tools: expected a list");
  }
  if (!chat.variables.is_object()) return invalid_argument("variables: expected an object");
  const auto set = [&](std::string_view name, const nlohmann::ordered_json& json) -> Status {
    auto value = jinja::from_json(json, render.work);
    render.scope->set(name, SLUICE_TRY(std::move(value).with_context(name)));
    return ok_status();
  };
  SLUICE_TRY(set("messages", chat.messages));
  SLUICE_TRY(set("tools", chat.tools));
  // Templates ask whether there are any; an undefined name would fail in some of them.
  SLUICE_TRY(set("documents", nullptr));
  for (const auto& [name, value] : chat.variables.items()) SLUICE_TRY(set(name, value));
  // Last, so that a variable of the caller cannot contradict the field.
  return set("add_generation_prompt", chat.adds_generation_prompt);
}

}  // namespace

Result<Chat> parse_chat(std::string_view json) {
  // Conversations come from clients: the bound holds before a value is built.
  constexpr int kMaxDepth = 64;
  auto parsed = SLUICE_TRY(parse_ordered_json(json, kMaxDepth));
  Chat chat;
  // A list alone is the messages; an object is a request in the form of OpenAI's API.
  if (!parsed.is_object()) {
    chat.messages = std::move(parsed);
    return chat;
  }
  for (auto& [name, value] : parsed.items()) {
    if (name == "messages") {
      chat.messages = std::move(value);
    } else if (name == "tools") {
      chat.tools = std::move(value);
    } else if (name == "add_generation_prompt") {
      if (!value.is_boolean()) return invalid_argument("{}: expected true or false", name);
      chat.adds_generation_prompt = value.get<bool>();
    } else {
      chat.variables[name] = std::move(value);
    }
  }
  return chat;
}

Result<ChatTemplate> ChatTemplate::read(const ChatFiles& files) {
  constexpr const char* kConfigName = "tokenizer_config.json";
  auto parts = std::make_shared<Parts>();
  const nlohmann::json config = SLUICE_TRY(parse_object(files.tokenizer_config, kConfigName));
  const nlohmann::json special =
      SLUICE_TRY(parse_object(files.special_tokens, "special_tokens_map.json"));
  read_tokens(config, parts->names);
  read_tokens(special, parts->names);
  Sources sources;
  if (files.template_file.empty()) {
    auto read = read_sources(config);
    sources = SLUICE_TRY(std::move(read).with_context(kConfigName));
  } else {
    sources.main = std::string(files.template_file);
  }
  if (!sources.main) {
    return make_error(Code::kNotFound,
                      "the model has no chat template; it goes on with plain text");
  }
  // Parsed once here: a template that Sluice does not support fails when the model is opened.
  parts->main = SLUICE_TRY(jinja::parse_template(*sources.main));
  if (sources.with_tools) {
    parts->with_tools = SLUICE_TRY(jinja::parse_template(*sources.with_tools));
  }
  return ChatTemplate(std::move(parts));
}

Result<std::string> ChatTemplate::render(const Chat& chat) const {
  // Values may refer to the namespaces and the rendering: these go last.
  jinja::Work work;
  jinja::Namespaces namespaces;
  jinja::Render render(work);
  const jinja::InnerScope scope(render);
  const auto now = chat.time_seconds.value_or(unix_time_seconds());
  for (auto& [name, value] : jinja::make_globals(namespaces, now)) {
    render.scope->set(name, std::move(value));
  }
  for (const auto& [name, token] : parts_->names) {
    render.scope->set(name, token.get_ref<const std::string&>());
  }
  SLUICE_TRY(add_variables(chat, render));
  const bool has_tools = parts_->with_tools && !chat.tools.is_null();
  const auto ran = jinja::run(has_tools ? *parts_->with_tools : parts_->main, render);
  if (!ran.is_ok()) {
    return ran.status().with_context(fmt::format("line {} of the chat template", render.line));
  }
  return std::move(render.output);
}

}  // namespace sluice::text
