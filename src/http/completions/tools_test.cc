#include "http/completions/tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace sluice::http {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

Json weather_and_time() {
  return Json::parse(R"([
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
      "properties": {"at": {"$ref": "#/$defs/place"}}, "$defs": {"place": {"type": "string"}}}}},
    {"type": "function", "function": {"name": "time"}}])");
}

TEST(Tools, SaysWhoMustBeCalled) {
  EXPECT_EQ(read_tools(nullptr, nullptr)->use, ToolUse::kNone);
  EXPECT_EQ(read_tools(weather_and_time(), "none")->use, ToolUse::kNone);
  EXPECT_TRUE(read_tools(weather_and_time(), "none")->list.is_null());
  EXPECT_EQ(read_tools(weather_and_time(), nullptr)->use, ToolUse::kFree);
  EXPECT_EQ(read_tools(weather_and_time(), "required")->use, ToolUse::kForced);
  const auto named = read_tools(
      weather_and_time(), Json::parse(R"({"type": "function", "function": {"name": "time"}})"));
  ASSERT_TRUE(named.is_ok());
  EXPECT_EQ(named->only, "time");
  EXPECT_EQ(call_schema(*named)["anyOf"].size(), 1U);
}

TEST(Tools, AreToldInMessagesThatEveryTemplateTakes) {
  Json messages = Json::parse(R"([
    {"role": "user", "content": "Warm?"},
    {"role": "assistant", "content": "", "tool_calls": [
      {"function": {"name": "weather", "arguments": {"at": "a"}}}, {"function": {"name": "time"}}]},
    {"role": "tool", "content": "20"}, {"role": "tool", "content": "noon"},
    {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And there?"}])");
  tell_tools(messages, weather_and_time());
  std::vector<std::string> roles;
  for (const Json& message : messages) roles.push_back(message["role"]);
  EXPECT_THAT(roles, ::testing::ElementsAre("user", "assistant", "user", "assistant", "user"));
  const std::string first = messages[0]["content"];
  EXPECT_THAT(first, HasSubstr("<tools>\n" + weather_and_time()[0].dump() + "\n"));
  EXPECT_TRUE(first.ends_with("\n\nWarm?")) << first;
  EXPECT_EQ(messages[1].dump(),
            R"({"role":"assistant","content":"<tool_call>\n{\"name\":\"weather\",\"arguments\":)"
            R"({\"at\":\"a\"}}\n</tool_call>\n<tool_call>\n{\"name\":\"time\",\"arguments\":{}}\n)"
            R"(</tool_call>"})");
  EXPECT_EQ(messages[2]["content"],
            "<tool_response>\n20\n</tool_response>\n<tool_response>\nnoon\n"
            "</tool_response>");
  EXPECT_EQ(messages[4]["content"], "And there?");

  ToolCallReader reader(ToolUse::kFree);
  EXPECT_EQ(reader.add(messages[1]["content"].get<std::string>()), "\n");
  EXPECT_EQ(reader.take_calls().size(), 2U) << "what former calls look like is found again";

  Json with_system = Json::parse(R"([{"role": "system", "content": "Be brief."},
    {"role": "user", "content": "a"}])");
  tell_tools(with_system, weather_and_time());
  EXPECT_TRUE(
      with_system[0]["content"].get<std::string>().starts_with("Be brief.\n\nYou may call"));
  EXPECT_EQ(with_system[1]["content"], "a");
  Json none =
      Json::parse(R"([{"role": "assistant", "content": "a", "tool_calls": 3}, {"role": 4}])");
  tell_tools(none, weather_and_time());
  EXPECT_EQ(none[0]["role"], "user");
}

TEST(Tools, AreSoughtInTheTemplateByTheRolesOfTheChat) {
  const std::string messages =
      "{% for message in messages %}[{{ message.role }}] {{ message.content }}{% endfor %}";
  const std::string wants_system =
      "{% if messages[0].role != 'system' %}{{ raise_exception('no system') }}{% endif %}";
  const auto knows = [](const std::string& source, std::string_view chat) {
    const auto chat_template = text::ChatTemplate::read({.template_file = source});
    EXPECT_TRUE(chat_template.is_ok()) << source;
    return knows_tools(*chat_template,
                       {.messages = Json::parse(chat), .tools = weather_and_time()});
  };
  const std::string_view user = R"([{"role": "user", "content": "a"}])";
  const std::string_view system =
      R"([{"role": "system", "content": "a"}, {"role": "user", "content": "b"}])";
  for (const std::string_view chat : {user, system}) {
    EXPECT_FALSE(knows(messages, chat));
    EXPECT_TRUE(knows("{{ tools | tojson }}" + messages, chat));
  }
  EXPECT_FALSE(knows(wants_system + messages, system));
  EXPECT_TRUE(knows(wants_system + messages, user)) << "the template's error is the answer";
  EXPECT_TRUE(knows(wants_system + "{{ tools | tojson }}" + messages, system));
  // Roles that the template does not take come only after the user's first message.
  const std::string no_results =
      "{% for message in messages %}{% if message.role == 'tool' %}"
      "{{ raise_exception('no tool') }}{% endif %}{{ message.content }}{% endfor %}";
  EXPECT_FALSE(knows(no_results, R"([{"role": "user", "content": "a"},
    {"role": "assistant", "content": "b"}, {"role": "tool", "content": "c"}])"));
  EXPECT_FALSE(knows(messages, R"([{"role": 4}, 5])")) << "what is no message is refused later";
}

TEST(Tools, RefusesWhatIsNoTool) {
  const auto refusal = [](const Json& list, const Json& choice) {
    return read_tools(list, choice).status().message();
  };
  EXPECT_THAT(refusal(Json::parse("{}"), nullptr), HasSubstr("expected a list"));
  EXPECT_THAT(refusal(Json::parse(R"([{"function": {"name": "a b"}}])"), nullptr),
              HasSubstr("\"name\""));
  Json twice = weather_and_time();
  twice.push_back(twice[0]);
  EXPECT_THAT(refusal(twice, nullptr), HasSubstr("\"weather\" comes twice"));
  EXPECT_THAT(refusal(nullptr, "required"), HasSubstr("only with tools"));
  EXPECT_THAT(refusal(weather_and_time(), "sometimes"), HasSubstr("tool_choice: expected"));
  EXPECT_THAT(refusal(weather_and_time(), Json::parse(R"({"function": {"name": "other"}})")),
              HasSubstr("tool_choice: expected"));
}

TEST(Tools, MovesReferencesIntoTheSchemaOfACall) {
  const auto tools = read_tools(weather_and_time(), "required");
  const Json schema = call_schema(*tools);
  EXPECT_EQ(schema["anyOf"][0]["properties"]["arguments"]["properties"]["at"]["$ref"],
            "#/anyOf/0/properties/arguments/$defs/place");
  EXPECT_EQ(schema["anyOf"][1]["properties"]["arguments"]["type"], "object");
}

TEST(Tools, OpensTheArgumentsOfFormerCalls) {
  Json message = Json::parse(
      R"({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{\"a\": 1}"}},
          {"function": {"name": "g", "arguments": "no json"}}]})");
  open_arguments(message);
  EXPECT_EQ(message["tool_calls"][0]["function"]["arguments"], Json({{"a", 1}}));
  EXPECT_EQ(message["tool_calls"][1]["function"]["arguments"], "no json");
}

struct Read {
  std::string shown;
  std::vector<ToolCall> calls;
};
/// In pieces of so many bytes.
Read read(ToolUse use, std::string_view text, std::size_t bytes) {
  ToolCallReader reader(use);
  Read read;
  const auto take = [&] {
    for (ToolCall& call : reader.take_calls()) read.calls.push_back(std::move(call));
  };
  for (std::size_t at = 0; at < text.size(); at += bytes) {
    read.shown += reader.add(text.substr(at, bytes));
    take();
  }
  read.shown += reader.finish();
  take();
  return read;
}

TEST(ToolCallReader, FindsCallsInTextsHoweverTheyCome) {
  constexpr std::string_view kText =
      "I <tool look\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": "
      "[\"</\"]}}\n</tool_call>"
      "<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call> done <tool";
  for (std::size_t bytes = 1; bytes <= kText.size(); ++bytes) {
    const Read found = read(ToolUse::kFree, kText, bytes);
    EXPECT_EQ(found.shown, "I <tool look\n done <tool");
    ASSERT_EQ(found.calls.size(), 2U);
    EXPECT_EQ(found.calls[0].name, "f");
    EXPECT_EQ(found.calls[0].arguments, R"({"b":1,"a":["</"]})");
    EXPECT_EQ(found.calls[1].name, "g");
    EXPECT_EQ(read(ToolUse::kNone, kText, bytes).shown, kText);
  }
}

// Looking through all of it for each piece would take an hour.
TEST(ToolCallReader, TakesALongCallInManyPieces) {
  std::string text = R"(<tool_call>{"name":"f","arguments":{"a":")";
  while (text.size() < std::size_t{16} << 20) text += "</tool_cal ";
  text += "\"}}</tool_call>";
  const Read found = read(ToolUse::kFree, text, 7);
  EXPECT_EQ(found.shown, "");
  EXPECT_EQ(found.calls.size(), 1U);
}

TEST(ToolCallReader, LeavesWhatIsNoCallInTheText) {
  for (const char* text :
       {"<tool_call>no json</tool_call> x", "<tool_call>{\"name\":\"f\"}</tool_call>",
        "<tool_call>{\"name\":\"f\",\"arguments\":{}}", "<tool_call>"}) {
    const Read found = read(ToolUse::kFree, text, 3);
    EXPECT_EQ(found.shown, text);
    EXPECT_TRUE(found.calls.empty());
  }
}

TEST(ToolCallReader, TakesAForcedCallAsAWhole) {
  const Read found = read(ToolUse::kForced, R"({"name": "f", "arguments": {"a": 1}})", 4);
  EXPECT_EQ(found.shown, "");
  ASSERT_EQ(found.calls.size(), 1U);
  EXPECT_EQ(found.calls[0].arguments, R"({"a":1})");
  EXPECT_EQ(read(ToolUse::kForced, R"({"name": "f", "argum)", 4).shown, R"({"name": "f", "argum)")
      << "a text that was cut";
}

}  // namespace
}  // namespace sluice::http
