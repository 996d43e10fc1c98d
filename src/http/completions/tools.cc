#include "http/completions/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>

#include "base/json/json_reader.h"

namespace sluice::http {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxTools = 128;
constexpr std::size_t kMaxNameBytes = 64;
constexpr int kMaxArgumentDepth = 64;
constexpr std::string_view kBegin = "<tool_call>";
constexpr std::string_view kEnd = "</tool_call>";

/// Empty if the tool has none.
std::string name_of(const Json& tool) {
  const auto function = tool.is_object() ? tool.find("function") : tool.end();
  if (!tool.is_object() || function == tool.end() || !function->is_object()) return "";
  const auto name = function->find("name");
  return name != function->end() && name->is_string() ? name->get<std::string>() : "";
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

Status check_list(const Json& list) {
  if (!list.is_array() || list.size() > kMaxTools) {
    return invalid_argument("tools: expected a list of at most {} tools", kMaxTools);
  }
  std::set<std::string> names;
  for (const Json& tool : list) {
    const std::string name = name_of(tool);
    if (!is_name(name)) {
      return invalid_argument(
          "tools: each is an object with a \"function\" that has a \"name\" of letters, digits, "
          "_, - and ., at most {}",
          kMaxNameBytes);
    }
    if (!names.insert(name).second) return invalid_argument("tools: \"{}\" comes twice", name);
  }
  return ok_status();
}

/// "#/$defs/a" within a part is a place within the part.
void move_references(Json& schema, const std::string& place) {
  if (schema.is_array()) {
    for (Json& part : schema) move_references(part, place);
  }
  if (!schema.is_object()) return;
  for (auto& [word, value] : schema.items()) {
    if (word == "$ref" && value.is_string() &&
        value.get_ref<const std::string&>().starts_with('#')) {
      value = place + value.get<std::string>().substr(1);
    } else {
      move_references(value, place);
    }
  }
}

/// Bytes at the end of `text` that `mark` begins with.
std::size_t overlap(std::string_view text, std::string_view mark) {
  for (std::size_t size = std::min(text.size(), mark.size() - 1); size > 0; --size) {
    if (text.ends_with(mark.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace

Result<Tools> read_tools(Json list, const Json& choice) {
  Tools tools;
  if (!list.is_null()) SLUICE_TRY(check_list(list));
  const bool has_tools = !list.is_null() && !list.empty();
  if (choice == "none" || (choice.is_null() && !has_tools)) return tools;
  if (choice == "auto" && !has_tools) return tools;
  if (!has_tools) return invalid_argument("tool_choice: only with tools");
  tools.list = std::move(list);
  tools.use = ToolUse::kForced;
  if (choice.is_null() || choice == "auto") tools.use = ToolUse::kFree;
  if (tools.use == ToolUse::kFree || choice == "required") return tools;
  tools.only = name_of(choice);
  const bool is_there = std::ranges::any_of(
      tools.list, [&](const Json& tool) { return name_of(tool) == tools.only; });
  if (!tools.only.empty() && is_there) return tools;
  return invalid_argument(
      "tool_choice: expected \"none\", \"auto\", \"required\", or the function of one of the "
      "tools");
}

Json call_schema(const Tools& tools) {
  Json calls = Json::array();
  for (const Json& tool : tools.list) {
    const std::string name = name_of(tool);
    if (!tools.only.empty() && name != tools.only) continue;
    const Json& function = tool["function"];
    const bool has_parameters =
        function.contains("parameters") && !function["parameters"].is_null();
    Json parameters = has_parameters ? function["parameters"]
                                     : Json{{"type", "object"}, {"properties", Json::object()}};
    move_references(parameters, fmt::format("#/anyOf/{}/properties/arguments", calls.size()));
    calls.push_back({{"type", "object"},
                     {"properties", {{"name", {{"const", name}}}, {"arguments", parameters}}},
                     {"required", {"name", "arguments"}}});
  }
  return {{"anyOf", std::move(calls)}};
}

bool are_strict(const Tools& tools) {
  return std::ranges::all_of(tools.list, [&](const Json& tool) {
    const Json& function = tool["function"];
    const bool is_other = !tools.only.empty() && name_of(tool) != tools.only;
    return is_other || (function.contains("strict") && function["strict"] == true);
  });
}

void open_arguments(Json& message) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array()) return;
  for (Json& call : *calls) {
    if (!call.is_object() || !call.contains("function")) continue;
    Json& function = call["function"];
    if (!function.is_object() || !function.contains("arguments")) continue;
    Json& arguments = function["arguments"];
    if (!arguments.is_string()) continue;
    auto read = parse_ordered_json(arguments.get_ref<const std::string&>(), kMaxArgumentDepth);
    if (read.is_ok() && read->is_object()) arguments = *std::move(read);
  }
}

bool ToolCallReader::add_call(std::string_view json) {
  const auto read = parse_ordered_json(json, kMaxArgumentDepth);
  if (!read.is_ok() || !read->is_object()) return false;
  const auto name = read->find("name");
  const auto arguments = read->find("arguments");
  if (name == read->end() || !name->is_string() || arguments == read->end()) return false;
  calls_.push_back({name->get<std::string>(), arguments->dump()});
  return true;
}

std::string ToolCallReader::add(std::string_view text) {
  held_ += text;
  if (use_ == ToolUse::kNone) return std::exchange(held_, "");
  std::string shown;
  while (use_ == ToolUse::kFree) {
    const std::string_view mark = is_within_ ? kEnd : kBegin;
    const std::size_t at = held_.find(mark, num_searched_);
    // A call may come in many pieces.
    num_searched_ = at == std::string::npos ? held_.size() - overlap(held_, mark) : 0;
    if (at == std::string::npos) break;
    if (!is_within_) {
      shown += held_.substr(0, at);
      held_.erase(0, at + kBegin.size());
    } else {
      const std::string json = held_.substr(0, at);
      held_.erase(0, at + kEnd.size());
      if (!add_call(json)) shown += fmt::format("{}{}{}", kBegin, json, kEnd);
    }
    is_within_ = !is_within_;
  }
  if (is_within_) return shown;
  const std::size_t kept = overlap(held_, kBegin);
  shown += held_.substr(0, held_.size() - kept);
  held_.erase(0, held_.size() - kept);
  num_searched_ = 0;
  return shown;
}

std::string ToolCallReader::finish() {
  const std::string held = std::exchange(held_, "");
  if (!is_within_) return held;
  is_within_ = false;
  if (use_ == ToolUse::kForced) return add_call(held) ? "" : held;
  return std::string(kBegin) + held;
}

}  // namespace sluice::http
