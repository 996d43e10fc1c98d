// Reads any bytes as a chat template, and lays out messages by it: the text is UTF-8, and a second
// time it is the same. A zero byte ends the template and begins the messages, as JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "text/chat_template.h"

namespace {

sluice::text::Chat chat_of(std::string_view json) {
  sluice::text::Chat chat;
  chat.time_seconds = 0;
  chat.messages = nlohmann::ordered_json::parse(
      R"([{"role": "system", "content": " S "}, {"role": "user", "content": "a\u00e9<|b|>"},
          {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f",
           "arguments": {"x": [1, 2.5, true]}}}]}])");
  chat.tools = nlohmann::ordered_json::parse(R"([{"function": {"name": "f", "parameters": {}}}])");
  if (json.empty()) return chat;
  auto messages = nlohmann::ordered_json::parse(json, nullptr, false);
  if (!messages.is_discarded()) chat.messages = std::move(messages);
  return chat;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\0');
  const auto source = input.substr(0, end);
  const auto chat_template = sluice::text::ChatTemplate::read(
      {.template_file = source,
       .tokenizer_config = R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}})",
       .special_tokens = ""});
  if (!chat_template.is_ok()) return 0;
  const auto chat = chat_of(end == std::string_view::npos ? "" : input.substr(end + 1));
  const auto text = chat_template->render(chat);
  const auto again = chat_template->render(chat);
  if (text.is_ok() != again.is_ok()) std::abort();
  if (text.is_ok() && (*text != *again || sluice::valid_utf8(*text) != *text)) std::abort();
  return 0;
}
