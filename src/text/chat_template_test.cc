#include "text/chat_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sluice::text {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

std::string laid_out(const ChatFiles& files, const Chat& chat = {}) {
  const auto chat_template = ChatTemplate::read(files);
  if (!chat_template.is_ok()) return chat_template.status().to_string();
  const auto text = chat_template->render(chat);
  return text.is_ok() ? *text : text.status().to_string();
}

TEST(ChatTemplate, TokensComeFromTextsAndObjects) {
  EXPECT_EQ(
      laid_out({.template_file = "{{ bos_token }}{{ eos_token }}{{ unk_token }}{{ pad_token }}",
                .tokenizer_config = R"({"bos_token": "<s>", "eos_token": {"content": "</s>"},
                                              "pad_token": null})",
                .special_tokens = R"({"bos_token": "other", "unk_token": "<unk>"})"}),
      "<s></s><unk>");
}

TEST(ChatTemplate, FileComesBeforeTheConfiguration) {
  const std::string_view config = R"({"chat_template": "from the configuration"})";
  EXPECT_EQ(laid_out({.tokenizer_config = config}), "from the configuration");
  EXPECT_EQ(laid_out({.template_file = "from the file", .tokenizer_config = config}),
            "from the file");
}

TEST(ChatTemplate, ToolsMayHaveATemplateOfTheirOwn) {
  const ChatFiles files{.tokenizer_config = R"({"chat_template": [
      {"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"},
      {"name": "rag", "template": "{% not read"}]})"};
  Chat chat;
  EXPECT_EQ(laid_out(files, chat), "plain");
  chat.tools = ordered_json::array();
  EXPECT_EQ(laid_out(files, chat), "tools");
}

TEST(ChatTemplate, FieldsKeepTheirOrder) {
  Chat chat;
  chat.tools = ordered_json::parse(R"([{"z": 1, "a": {"y": 2.0, "b": null}}])");
  chat.variables = ordered_json::parse(R"({"enable_thinking": false})");
  EXPECT_EQ(laid_out({.template_file = "{{ tools | tojson }}{{ enable_thinking }}"}, chat),
            R"([{"z": 1, "a": {"y": 2.0, "b": null}}]False)");
}

TEST(ChatTemplate, TimeIsTheCallers) {
  Chat chat;
  chat.time_seconds = 86400 * 200;
  EXPECT_EQ(laid_out({.template_file = "{{ strftime_now('%Y-%m') }}"}, chat), "1970-07");
}

TEST(ChatTemplate, BadFilesAndChatsAreRefused) {
  EXPECT_THAT(laid_out({}), HasSubstr("the model has no chat template"));
  EXPECT_THAT(laid_out({.tokenizer_config = "{"}), HasSubstr("tokenizer_config.json: not JSON"));
  EXPECT_THAT(laid_out({.tokenizer_config = R"({"chat_template": 5})"}),
              HasSubstr("chat_template: expected a text"));
  EXPECT_THAT(laid_out({.template_file = "\xFF"}), HasSubstr("UTF-8"));
  Chat chat;
  chat.messages = "hello";
  EXPECT_THAT(laid_out({.template_file = "x"}, chat), HasSubstr("messages: expected a list"));
  chat.messages = ordered_json::array({"\xFF"});
  EXPECT_THAT(laid_out({.template_file = "x"}, chat), HasSubstr("UTF-8"));
  chat.messages = ordered_json::array();
  for (int i = 0; i < 100; ++i) chat.messages = ordered_json::array({chat.messages});
  EXPECT_THAT(laid_out({.template_file = "x"}, chat), HasSubstr("levels deep"));
}

TEST(ChatTemplate, NumbersBeyondSixtyFourBitsBecomeFloats) {
  Chat chat;
  chat.messages = ordered_json::parse("[18446744073709551615, -9223372036854775808]");
  EXPECT_EQ(laid_out({.template_file = "{{ messages | tojson }}"}, chat),
            "[1.8446744073709552e+19, -9223372036854775808]");
}

}  // namespace
}  // namespace sluice::text
