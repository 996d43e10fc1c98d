#include "http/completions/text_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "http/completions/sampling_fields.h"
#include "http/fields.h"

namespace sluice::http {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxStops = 16;
constexpr std::size_t kMaxBadWords = generate::Sampling::kMaxBadWords / 2;
/// OpenAI's default for a completion.
constexpr std::int64_t kCompletionTokens = 16;
/// OpenAI's limit for each token of a chat.
constexpr std::int64_t kMaxTopLogprobs = 20;

Result<std::vector<std::int64_t>> ids_of(const std::vector<Json>& items, const char* name) {
  std::vector<std::int64_t> ids;
  for (const Json& item : items) {
    ids.push_back(SLUICE_TRY(Fields::count_of(item, name, 0, Fields::kMaxCount)));
  }
  return ids;
}

Status read_stops(Fields& fields, const char* name, TextCall& call) {
  for (std::string& stop : SLUICE_TRY(read_texts(fields, name, kMaxStops))) {
    call.stops.push_back(std::move(stop));
  }
  return ok_status();
}

/// An empty one is how clients of TensorRT-LLM say none; as among stops.
Status read_bad_words(Fields& fields, TextCall& call) {
  call.bad_words = SLUICE_TRY(read_texts(fields, "bad_words", kMaxBadWords));
  std::erase(call.bad_words, "");
  return ok_status();
}

/// What all protocols say by the same names.
Status read_shared(Fields& fields, TextCall& call) {
  call.sampling = SLUICE_TRY(read_sampling(fields));
  SLUICE_TRY(read_bad_words(fields, call));
  SLUICE_TRY(read_stops(fields, "stop", call));
  const auto stop_ids = SLUICE_TRY(fields.items("stop_token_ids", kMaxStops));
  call.stop_ids = SLUICE_TRY(ids_of(stop_ids, "stop_token_ids"));
  call.timeout_us = SLUICE_TRY(fields.count("timeout")).value_or(0);
  call.priority = static_cast<std::uint64_t>(SLUICE_TRY(fields.count("priority")).value_or(0));
  call.is_streamed = SLUICE_TRY(fields.flag("stream"));
  SLUICE_TRY(fields.check_unused("skip_special_tokens", {true}));
  SLUICE_TRY(fields.check_unused("ignore_eos", {false}));
  return ok_status();
}

using Form = grammar::Source::Form;

/// {"type": "json_schema", "json_schema": {"schema": .., "strict": ..}}; other servers' form of it
/// is {"type": "json_object", "schema": ..}. As OpenAI has it, a schema that is not strict is a
/// wish as far as it cannot be kept. A source of kAny has no schema.
Result<grammar::Source> schema_of(Json format) {
  Fields fields(std::move(format));
  const std::string type = SLUICE_TRY(fields.text("type")).value_or("");
  if (type == "text") return grammar::Source();
  if (type != "json_object" && type != "json_schema") {
    return invalid_argument(
        "response_format: \"type\" is \"text\", \"json_object\" or \"json_schema\"");
  }
  Json schema = fields.take("schema");
  bool is_strict = true;
  if (type == "json_schema") {
    Json inner = fields.take("json_schema");
    if (!inner.is_object() || !inner.contains("schema")) {
      return invalid_argument("response_format: \"json_schema\" is an object with a \"schema\"");
    }
    is_strict = inner.contains("strict") && inner["strict"] == true;
    schema = std::move(inner["schema"]);
  }
  if (schema.is_null()) schema = Json::object({{"type", "object"}});
  return grammar::Source{is_strict ? Form::kSchema : Form::kLooseSchema, schema.dump()};
}

Status read_grammar(Fields& fields, TextCall& call) {
  auto gbnf = SLUICE_TRY(fields.text("grammar"));
  if (gbnf) call.grammar = {Form::kGbnf, std::move(*gbnf)};
  Json format = fields.take("response_format");
  if (format.is_null()) return ok_status();
  if (!format.is_object()) return invalid_argument("response_format: expected an object");
  grammar::Source schema = SLUICE_TRY(schema_of(std::move(format)));
  if (schema.form == Form::kAny) return ok_status();
  if (gbnf) return invalid_argument("grammar: only without a response_format");
  call.grammar = std::move(schema);
  return ok_status();
}

/// A forced call is a grammar of its own.
Status read_tool_fields(Fields& fields, TextCall& call) {
  Json list = fields.take("tools");
  const Json choice = fields.take("tool_choice");
  call.tools = SLUICE_TRY(read_tools(std::move(list), choice));
  if (call.tools.use != ToolUse::kForced) return ok_status();
  if (call.grammar.form != Form::kAny) {
    return invalid_argument(
        "tool_choice: a call beside a grammar or a response_format is not possible");
  }
  const bool is_strict = are_strict(call.tools);
  call.grammar = {is_strict ? Form::kSchema : Form::kLooseSchema, call_schema(call.tools).dump()};
  return ok_status();
}

/// The rest of what OpenAI's two calls share.
Status read_openai(Fields& fields, TextCall& call) {
  call.model = SLUICE_TRY(fields.required("model"));
  SLUICE_TRY(read_shared(fields, call));
  SLUICE_TRY(read_grammar(fields, call));
  Json options = fields.take("stream_options");
  if (!options.is_null()) {
    if (!options.is_object()) return invalid_argument("stream_options: expected an object");
    if (!call.is_streamed) return invalid_argument("stream_options: only with \"stream\": true");
    Fields inner(std::move(options));
    call.includes_usage = SLUICE_TRY(inner.flag("include_usage"));
    SLUICE_TRY(inner.flag("include_obfuscation"));
    SLUICE_TRY(inner.check_all_read());
  }
  call.num_choices = SLUICE_TRY(fields.count("n", 1, kMaxChoices)).value_or(1);
  return ok_status();
}

/// `name`: "prompt", or "prompt[3]" of several.
Result<Prompt> read_prompt(const Json& prompt, const std::string& name) {
  if (prompt.is_string()) {
    Prompt read = {prompt.get<std::string>()};
    if (read.text.empty()) return invalid_argument("{}: the text is empty", name);
    return read;
  }
  if (!prompt.is_array() || prompt.empty()) {
    return invalid_argument("{}: expected a text, or a list of ids of tokens", name);
  }
  Prompt read;
  for (const Json& id : prompt) {
    read.ids.push_back(SLUICE_TRY(Fields::count_of(id, name.c_str(), 0, Fields::kMaxCount)));
  }
  return read;
}

/// A text, its ids, or a list of either.
Status read_prompts(const Json& value, TextCall& call) {
  const bool are_several = value.is_array() && !value.empty() && !value.front().is_number();
  if (!are_several) {
    call.prompts.push_back(SLUICE_TRY(read_prompt(value, "prompt")));
    return ok_status();
  }
  const std::int64_t num_choices = std::ssize(value) * call.num_choices;
  if (num_choices > kMaxChoices) {
    return invalid_argument("prompt: {} prompts, {} choices in all; at most {} are taken",
                            value.size(), num_choices, kMaxChoices);
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    call.prompts.push_back(SLUICE_TRY(read_prompt(value[i], fmt::format("prompt[{}]", i))));
  }
  return ok_status();
}

/// Parts of texts that clients write: those of chats, those of answers that they send back, and
/// those of other calls of OpenAI's.
constexpr std::array<std::pair<std::string_view, const char*>, 4> kTextParts = {
    {{"text", "text"}, {"refusal", "refusal"}, {"input_text", "text"}, {"output_text", "text"}}};

/// Text of a part of a content.
Result<std::string> text_of(const Json& part) {
  if (part.is_string()) return part.get<std::string>();
  const auto kind = part.is_object() ? part.find("type") : part.end();
  if (!part.is_object() || kind == part.end() || !kind->is_string()) {
    return invalid_argument(
        "messages: each part of a \"content\" is a text or an object with a \"type\"");
  }
  const auto& name = kind->get_ref<const std::string&>();
  const auto* found =
      std::ranges::find(kTextParts, name, &std::pair<std::string_view, const char*>::first);
  if (found == kTextParts.end()) {
    return unimplemented("messages: parts of type \"{}\" are not supported; \"text\" is",
                         name.substr(0, 64));
  }
  const auto text = part.find(found->second);
  if (text == part.end() || !text->is_string()) {
    return invalid_argument("messages: a part of type \"{}\" has a \"{}\"", name, found->second);
  }
  return text->get<std::string>();
}

/// Templates write a content as it is, so that a list of parts becomes one text, and none, as
/// beside calls of tools, an empty one.
Status join_parts(Json& content) {
  if (content.is_null()) content = "";
  if (content.is_string()) return ok_status();
  if (!content.is_array())
    return invalid_argument("messages: a \"content\" is a text or a list of parts");
  std::string joined;
  for (const Json& part : content) joined += SLUICE_TRY(text_of(part));
  content = std::move(joined);
  return ok_status();
}

Status read_messages(Fields& fields, TextCall& call) {
  constexpr std::size_t kMaxMessages = 4096;
  const auto items = SLUICE_TRY(fields.items("messages", kMaxMessages));
  if (items.empty()) return invalid_argument("messages: expected a list with at least one message");
  call.messages = Json::array();
  for (const Json& item : items) {
    const auto role = item.is_object() ? item.find("role") : item.end();
    if (!item.is_object() || role == item.end() || !role->is_string()) {
      return invalid_argument("messages: each is an object with a text \"role\"");
    }
    call.messages.push_back(item);
    open_arguments(call.messages.back());
    SLUICE_TRY(join_parts(call.messages.back()["content"]));
  }
  return ok_status();
}

}  // namespace

Result<TextCall> read_completion(std::string_view body) {
  TextCall call;
  Fields fields = SLUICE_TRY(Fields::read(body));
  SLUICE_TRY(read_openai(fields, call));
  SLUICE_TRY(read_prompts(fields.take("prompt"), call));
  call.max_tokens = SLUICE_TRY(fields.count("max_tokens")).value_or(kCompletionTokens);
  call.echoes = SLUICE_TRY(fields.flag("echo"));
  SLUICE_TRY(fields.check_unused("best_of", {call.num_choices}));
  call.top_logprobs = SLUICE_TRY(fields.count("logprobs", 0, kMaxTopLogprobs));
  if (call.top_logprobs && call.echoes) {
    return unimplemented("logprobs: those of the prompt are not served; leave out echo");
  }
  SLUICE_TRY(fields.check_unused("suffix", {""}));
  SLUICE_TRY(fields.check_all_read());
  return call;
}

Result<TextCall> read_chat(std::string_view body) {
  TextCall call;
  Fields fields = SLUICE_TRY(Fields::read(body));
  SLUICE_TRY(read_openai(fields, call));
  SLUICE_TRY(read_messages(fields, call));
  const auto old_name = SLUICE_TRY(fields.count("max_tokens"));
  call.max_tokens = SLUICE_TRY(fields.count("max_completion_tokens"));
  if (!call.max_tokens) call.max_tokens = old_name;
  Json variables = fields.take("chat_template_kwargs");
  if (!variables.is_null() && !variables.is_object()) {
    return invalid_argument("chat_template_kwargs: expected an object");
  }
  for (const char* name : {"messages", "tools", "add_generation_prompt"}) {
    if (variables.contains(name)) {
      return invalid_argument("chat_template_kwargs: \"{}\" is the request's own", name);
    }
  }
  if (!variables.is_null()) call.variables = std::move(variables);
  SLUICE_TRY(read_tool_fields(fields, call));
  SLUICE_TRY(fields.check_unused("functions", {Json::array()}));
  SLUICE_TRY(fields.check_unused("function_call", {"none"}));
  SLUICE_TRY(fields.check_unused("add_generation_prompt", {true}));
  SLUICE_TRY(fields.check_unused("verbosity", {"medium"}));
  SLUICE_TRY(fields.check_unused("modalities", {Json::array({"text"})}));
  const bool wants_logprobs = SLUICE_TRY(fields.flag("logprobs"));
  const auto num_top = SLUICE_TRY(fields.count("top_logprobs", 0, kMaxTopLogprobs));
  if (wants_logprobs) {
    call.top_logprobs = num_top.value_or(0);
  } else if (num_top.value_or(0) > 0) {
    return invalid_argument("top_logprobs: only with \"logprobs\": true");
  }
  SLUICE_TRY(fields.check_all_read());
  return call;
}

/// What clients of TensorRT-LLM's models say, in their words.
Status read_tensorrt(Fields& fields, TextCall& call) {
  const auto seed = SLUICE_TRY(fields.count("random_seed"));
  if (seed) call.sampling.seed = static_cast<std::uint64_t>(*seed);
  const auto end = SLUICE_TRY(fields.count("end_id"));
  if (end) call.stop_ids.push_back(*end);
  // No text is padded, and the others are for more beams than one.
  for (const char* name : {"pad_id", "length_penalty", "early_stopping"}) fields.take(name);
  SLUICE_TRY(fields.check_unused("beam_width", {1}));
  SLUICE_TRY(fields.check_unused("num_return_sequences", {1}));
  for (const char* name :
       {"return_log_probs", "return_context_logits", "return_generation_logits"}) {
    SLUICE_TRY(fields.check_unused(name, {false}));
  }
  return ok_status();
}

Result<TextCall> read_generate(std::string_view body) {
  TextCall call;
  Fields fields = SLUICE_TRY(Fields::read(body));
  call.prompts.push_back({SLUICE_TRY(fields.required("text_input"))});
  call.id = SLUICE_TRY(fields.text("id")).value_or("");
  SLUICE_TRY(fields.merge("parameters"));
  SLUICE_TRY(read_shared(fields, call));
  SLUICE_TRY(read_stops(fields, "stop_words", call));
  SLUICE_TRY(read_tensorrt(fields, call));
  call.adapter = SLUICE_TRY(fields.text("lora_name")).value_or("");  // as with Triton's vLLM
  call.max_tokens = SLUICE_TRY(fields.count("max_tokens")).value_or(kCompletionTokens);
  const Json excludes = fields.take("exclude_input_in_output");
  if (!excludes.is_null() && !excludes.is_boolean()) {
    return invalid_argument("exclude_input_in_output: expected true or false");
  }
  call.echoes = excludes == false;
  SLUICE_TRY(fields.check_unused("n", {1}));
  SLUICE_TRY(fields.check_all_read());
  return call;
}

}  // namespace sluice::http
