// Functions of a client that a chat's answer may call.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/chat_template.h"

namespace sluice::http {

struct ToolCall {
  std::string name;
  std::string arguments;  ///< JSON
};

/// How an answer calls.
enum class ToolUse {
  kNone,   ///< not at all
  kFree,   ///< where it likes, between the marks that models put around calls
  kForced  ///< the answer is one call, and nothing else
};

/// Tools of one request.
struct Tools {
  nlohmann::ordered_json list;  ///< in OpenAI's form, for the chat's template; null: none
  ToolUse use = ToolUse::kNone;
  std::string only;  ///< of kForced: the one to call; empty: any
};

/// The fields "tools" and "tool_choice". Fails: kInvalidArgument, kUnimplemented.
Result<Tools> read_tools(nlohmann::ordered_json list, const nlohmann::ordered_json& choice);

/// For kForced: a schema of {"name": .., "arguments": ..} for the tools that may be called, and
/// what each takes.
nlohmann::ordered_json call_schema(const Tools& tools);
/// Whether each of them says "strict": true.
bool are_strict(const Tools& tools);

/// Clients send the arguments of former calls as text; templates read them as values.
void open_arguments(nlohmann::ordered_json& message);

/// Whether the template shows tools, or refuses the chat. Asked with the roles of the chat's
/// messages up to the user's first one: some templates want a system message before it, and some
/// take none.
bool knows_tools(const text::ChatTemplate& chat_template, const text::Chat& chat);

/// Writes tools, calls and their results into messages of the system, the assistant and the user,
/// for templates that show none of them. In Hermes' form, which ToolCallReader finds: as
/// llama-server does for such templates.
void tell_tools(nlohmann::ordered_json& messages, const nlohmann::ordered_json& tools);

/// Finds calls in a text as it comes: `<tool_call>{"name": .., "arguments": {..}}</tool_call>`, the
/// form of Qwen's, Hermes' and other families. With kForced the whole text is one, without marks.
/// What is no call stays text. Used by one thread at a time.
class ToolCallReader {
 public:
  explicit ToolCallReader(ToolUse use) : use_(use), is_within_(use == ToolUse::kForced) {}

  /// What may be shown of the text so far; what may be a mark or a call is held back.
  std::string add(std::string_view text);
  /// The end of the text: what was held back and is no call.
  std::string finish();
  /// Calls since the last time.
  std::vector<ToolCall> take_calls() { return std::exchange(calls_, {}); }

 private:
  bool add_call(std::string_view json);

  const ToolUse use_;
  bool is_within_;                ///< a call
  std::string held_;              ///< the rest of the text
  std::size_t num_searched_ = 0;  ///< bytes of it where no mark begins
  std::vector<ToolCall> calls_;
};

}  // namespace sluice::http
