// The words are those that models of the Hermes and Qwen families are trained on, more or less; a
// model that knows neither follows them as far as it follows any instruction.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "http/completions/tools.h"

namespace sluice::http {
namespace {

using Json = nlohmann::ordered_json;

/// Requires: an object. Empty for what is no text.
std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string instruction_of(const Json& tools) {
  std::string lines;
  for (const Json& tool : tools) lines += dump(tool) + "\n";
  return fmt::format(
      "You may call functions. These are their signatures:\n<tools>\n{}</tools>\n"
      "For each call write a JSON object with its name and its arguments between the tags "
      "<tool_call></tool_call>:\n"
      "<tool_call>\n{{\"name\": \"FUNCTION\", \"arguments\": {{\"NAME\": VALUE}}}}\n</tool_call>",
      lines);
}

/// What an assistant wrote to call.
std::string calls_of(const Json& calls) {
  std::string text;
  for (const Json& call : calls) {
    if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) continue;
    const Json& function = call["function"];
    const Json arguments = function.value("arguments", Json::object());
    const Json told = {{"name", text_of(function, "name")}, {"arguments", arguments}};
    text += fmt::format("{}<tool_call>\n{}\n</tool_call>", text.empty() ? "" : "\n", dump(told));
  }
  return text;
}

void tell_calls(Json& message) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array()) return;
  const std::string said = text_of(message, "content");
  const std::string told = calls_of(*calls);
  message.erase("tool_calls");
  message["content"] = said.empty() || told.empty() ? said + told : said + "\n" + told;
}

}  // namespace

bool knows_tools(const text::ChatTemplate& chat_template, const text::Chat& chat) {
  text::Chat asked;
  asked.variables = chat.variables;
  asked.time_seconds = chat.time_seconds.value_or(0);  // the same of both texts
  for (const Json& message : chat.messages) {
    const std::string role = message.is_object() ? text_of(message, "role") : "";
    asked.messages.push_back({{"role", role}, {"content", "?"}});
    if (role == "user") break;
  }
  const auto without = chat_template.render(asked);
  asked.tools = chat.tools;
  const auto with_tools = chat_template.render(asked);
  // Where it raises an error, the request gets it.
  return !with_tools.is_ok() || !without.is_ok() || *with_tools != *without;
}

void tell_tools(Json& messages, const Json& tools) {
  Json told = Json::array();
  // The last one. Results of one turn are one message, since roles alternate.
  bool is_result = false;
  for (Json& message : messages) {
    const std::string role = text_of(message, "role");
    if (role == "tool") {
      std::string result =
          fmt::format("<tool_response>\n{}\n</tool_response>", text_of(message, "content"));
      if (is_result) result = fmt::format("{}\n{}", text_of(told.back(), "content"), result);
      if (is_result) told.erase(told.size() - 1);
      told.push_back({{"role", "user"}, {"content", std::move(result)}});
      is_result = true;
      continue;
    }
    is_result = false;
    if (role == "assistant") tell_calls(message);
    told.push_back(std::move(message));
  }
  messages = std::move(told);
  const std::string instruction = instruction_of(tools);
  for (Json& message : messages) {
    const std::string role = text_of(message, "role");
    const std::string content = text_of(message, "content");
    if (role == "system" || role == "developer") {
      message["content"] = fmt::format("{}\n\n{}", content, instruction);
      return;
    }
    // Not every template takes a system message, and some write one of their own.
    if (role == "user") {
      message["content"] = fmt::format("{}\n\n{}", instruction, content);
      return;
    }
  }
  messages.insert(messages.begin(), Json{{"role", "user"}, {"content", instruction}});
}

}  // namespace sluice::http
