// A field is read once and then no longer there: what is left in the end nobody knew.
#include "http/completions/text_call.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/json/json_reader.h"
#include "base/utf8.h"

namespace sluice::http {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxBodyBytes = std::size_t{4} << 20;
constexpr int kMaxDepth = 64;
constexpr std::size_t kMaxStops = 16;
constexpr std::size_t kMaxStopBytes = 1024;
constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;
/// Of OpenAI, where a completion says nothing.
constexpr std::int64_t kCompletionTokens = 16;

/// What changes no text.
constexpr std::array<std::string_view, 9> kIgnored = {
    "metadata",          "parallel_tool_calls", "prompt_cache_key",
    "safety_identifier", "service_tier",        "store",
    "stream_id",         "system_fingerprint",  "user"};

template <typename... Args>
Status wrong(fmt::format_string<Args...> format, Args&&... args) {
  return invalid_argument(format, std::forward<Args>(args)...);
}

/// The fields of an object that nobody has read yet. A null is as good as no field.
class Fields {
 public:
  explicit Fields(Json object) : object_(std::move(object)) {}

  /// Null if there is none.
  Json take(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) return nullptr;
    Json value = std::move(*found);
    object_.erase(found);
    return value;
  }
  Result<std::optional<std::string>> text(const char* name) {
    const Json value = take(name);
    if (value.is_null()) return std::optional<std::string>();
    if (!value.is_string()) return wrong("{}: expected a text", name);
    return std::optional(value.get<std::string>());
  }
  Result<bool> flag(const char* name) {
    const Json value = take(name);
    if (value.is_null()) return false;
    if (!value.is_boolean()) return wrong("{}: expected true or false", name);
    return value.get<bool>();
  }
  Result<std::optional<std::int64_t>> count(const char* name, std::int64_t least = 0,
                                            std::int64_t most = kMaxCount) {
    const Json value = take(name);
    if (value.is_null()) return std::optional<std::int64_t>();
    return std::optional(SLUICE_TRY(count_of(value, name, least, most)));
  }
  Result<std::optional<float>> number(const char* name) {
    const Json value = take(name);
    if (value.is_null()) return std::optional<float>();
    const double number = value.is_number() ? value.get<double>() : std::nan("");
    if (!std::isfinite(number)) return wrong("{}: expected a number", name);
    return std::optional(static_cast<float>(number));
  }
  /// A list; none if there is no field.
  Result<std::vector<Json>> items(const char* name, std::size_t most) {
    Json value = take(name);
    if (value.is_null()) return std::vector<Json>();
    if (!value.is_array()) return wrong("{}: expected a list", name);
    if (value.size() > most) {
      return wrong("{}: a list of {}; at most {} are taken", name, value.size(), most);
    }
    return std::vector<Json>(std::make_move_iterator(value.begin()),
                             std::make_move_iterator(value.end()));
  }
  /// The fields of the object `name` are this one's, too.
  Status merge(const char* name) {
    Json inner = take(name);
    if (inner.is_null()) return ok_status();
    if (!inner.is_object()) return wrong("{}: expected an object", name);
    for (auto& [key, value] : inner.items()) object_.emplace(key, std::move(value));
    return ok_status();
  }
  /// Refuses values other than those that change nothing.
  Status check_unused(const char* name, std::initializer_list<Json> harmless) {
    const Json value = take(name);
    if (value.is_null() || std::ranges::find(harmless, value) != harmless.end()) return ok_status();
    return make_error(Code::kUnimplemented, "{}: not served yet; leave it out", name);
  }
  Status check_all_read() {
    for (const std::string_view name : kIgnored) object_.erase(std::string(name));
    if (object_.empty()) return ok_status();
    return wrong("\"{}\" is a field that is not known here",
                 valid_utf8(object_.begin().key()).substr(0, 64));
  }

  static Result<std::int64_t> count_of(const Json& value, const char* name, std::int64_t least,
                                       std::int64_t most) {
    const bool is_huge = value.is_number_unsigned() && value.get<std::uint64_t>() > kMaxCount;
    if (!value.is_number_integer()) return wrong("{}: expected a whole number", name);
    const std::int64_t number = is_huge ? -1 : value.get<std::int64_t>();
    if (is_huge || number < least || number > most) {
      return wrong("{}: {} is not between {} and {}", name, value.dump(), least, most);
    }
    return number;
  }

 private:
  Json object_;
};

Result<Fields> fields_of(std::string_view body) {
  if (body.size() > kMaxBodyBytes) {
    return wrong("the body has {} bytes; at most {} are read", body.size(), kMaxBodyBytes);
  }
  Json json = SLUICE_TRY(parse_ordered_json(body, kMaxDepth));
  if (!json.is_object()) return wrong("the body is no JSON object");
  return Fields(std::move(json));
}

Result<std::vector<std::int64_t>> ids_of(const std::vector<Json>& items, const char* name) {
  std::vector<std::int64_t> ids;
  for (const Json& item : items) {
    ids.push_back(SLUICE_TRY(Fields::count_of(item, name, 0, kMaxCount)));
  }
  return ids;
}

Status read_sampling(Fields& fields, generate::WantedSampling& sampling) {
  sampling.temperature = SLUICE_TRY(fields.number("temperature"));
  sampling.top_k = SLUICE_TRY(fields.count("top_k", -1));
  if (sampling.top_k == -1) sampling.top_k = 0;  // other servers' "all"
  sampling.top_p = SLUICE_TRY(fields.number("top_p"));
  sampling.min_p = SLUICE_TRY(fields.number("min_p"));
  sampling.repetition_penalty = SLUICE_TRY(fields.number("repetition_penalty"));
  const Json seed = fields.take("seed");
  if (seed.is_null()) return ok_status();
  if (!seed.is_number_integer()) return wrong("seed: expected a whole number");
  // A negative one counts from the end.
  sampling.seed = seed.is_number_unsigned() ? seed.get<std::uint64_t>()
                                            : static_cast<std::uint64_t>(seed.get<std::int64_t>());
  return ok_status();
}

Status read_stops(Fields& fields, const char* name, TextCall& call) {
  Json value = fields.take(name);
  if (value.is_null()) return ok_status();
  if (value.is_string()) value = Json::array({std::move(value)});
  if (!value.is_array()) return wrong("{}: expected a text or a list of texts", name);
  if (value.size() > kMaxStops) {
    return wrong("{}: {} texts; at most {} are taken", name, value.size(), kMaxStops);
  }
  for (const Json& stop : value) {
    if (!stop.is_string()) return wrong("{}: expected texts", name);
    const auto& text = stop.get_ref<const std::string&>();
    if (text.size() > kMaxStopBytes) {
      return wrong("{}: a text of {} bytes; at most {} are taken", name, text.size(),
                   kMaxStopBytes);
    }
    call.stops.push_back(text);
  }
  return ok_status();
}

/// What all protocols say by the same names.
Status read_shared(Fields& fields, TextCall& call) {
  SLUICE_TRY(read_sampling(fields, call.sampling));
  SLUICE_TRY(read_stops(fields, "stop", call));
  const auto stop_ids = SLUICE_TRY(fields.items("stop_token_ids", kMaxStops));
  call.stop_ids = SLUICE_TRY(ids_of(stop_ids, "stop_token_ids"));
  call.timeout_us = SLUICE_TRY(fields.count("timeout")).value_or(0);
  call.priority = static_cast<std::uint64_t>(SLUICE_TRY(fields.count("priority")).value_or(0));
  call.is_streamed = SLUICE_TRY(fields.flag("stream"));
  return ok_status();
}

/// The rest of what OpenAI's two calls share.
Status read_openai(Fields& fields, TextCall& call) {
  auto model = SLUICE_TRY(fields.text("model"));
  if (!model || model->empty()) return wrong("model: missing");
  call.model = std::move(*model);
  SLUICE_TRY(read_shared(fields, call));
  Json options = fields.take("stream_options");
  if (!options.is_null()) {
    if (!options.is_object()) return wrong("stream_options: expected an object");
    if (!call.is_streamed) return wrong("stream_options: only with \"stream\": true");
    Fields inner(std::move(options));
    call.includes_usage = SLUICE_TRY(inner.flag("include_usage"));
    SLUICE_TRY(inner.flag("include_obfuscation"));
    SLUICE_TRY(inner.check_all_read());
  }
  SLUICE_TRY(fields.check_unused("n", {1}));
  SLUICE_TRY(fields.check_unused("logit_bias", {Json::object()}));
  SLUICE_TRY(fields.check_unused("presence_penalty", {0, 0.0}));
  SLUICE_TRY(fields.check_unused("frequency_penalty", {0, 0.0}));
  return ok_status();
}

/// A text, its ids, or a list of one of them.
Status read_prompt(Json prompt, TextCall& call) {
  if (prompt.is_array() && !prompt.empty() && !prompt.front().is_number()) {
    if (prompt.size() > 1) {
      return make_error(Code::kUnimplemented, "prompt: {} prompts in one request; send them apart",
                        prompt.size());
    }
    Json only = std::move(prompt.front());
    prompt = std::move(only);
  }
  if (prompt.is_string()) {
    call.prompt = prompt.get<std::string>();
    if (call.prompt.empty()) return wrong("prompt: the text is empty");
    return ok_status();
  }
  const bool is_ids = prompt.is_array() && !prompt.empty();
  if (!is_ids) return wrong("prompt: expected a text, or a list of ids of tokens");
  for (const Json& id : prompt) {
    call.ids.push_back(SLUICE_TRY(Fields::count_of(id, "prompt", 0, kMaxCount)));
  }
  return ok_status();
}

/// Templates write a content as it is, so that a list of parts becomes one text. Other contents
/// stay.
Status join_parts(Json& content) {
  if (content.is_null() || content.is_string()) return ok_status();
  if (!content.is_array()) return wrong("messages: a \"content\" is a text or a list of parts");
  std::string joined;
  for (const Json& part : content) {
    const auto kind = part.is_object() ? part.find("type") : part.end();
    if (!part.is_object() || kind == part.end() || !kind->is_string()) {
      return wrong("messages: each part of a \"content\" is an object with a \"type\"");
    }
    if (*kind != "text") {
      return unimplemented("messages: parts of type \"{}\" are not supported; \"text\" is",
                           kind->get_ref<const std::string&>().substr(0, 64));
    }
    const auto text = part.find("text");
    if (text == part.end() || !text->is_string()) {
      return wrong("messages: a part of type \"text\" has a \"text\"");
    }
    joined += text->get_ref<const std::string&>();
  }
  content = std::move(joined);
  return ok_status();
}

Status read_messages(Fields& fields, TextCall& call) {
  constexpr std::size_t kMaxMessages = 4096;
  const auto items = SLUICE_TRY(fields.items("messages", kMaxMessages));
  if (items.empty()) return wrong("messages: expected a list with at least one message");
  call.messages = Json::array();
  for (const Json& item : items) {
    const auto role = item.is_object() ? item.find("role") : item.end();
    if (!item.is_object() || role == item.end() || !role->is_string()) {
      return wrong("messages: each is an object with a text \"role\"");
    }
    call.messages.push_back(item);
    const auto content = call.messages.back().find("content");
    if (content != call.messages.back().end()) SLUICE_TRY(join_parts(*content));
  }
  return ok_status();
}

}  // namespace

Result<TextCall> read_completion(std::string_view body) {
  TextCall call;
  Fields fields = SLUICE_TRY(fields_of(body));
  SLUICE_TRY(read_openai(fields, call));
  SLUICE_TRY(read_prompt(fields.take("prompt"), call));
  call.max_tokens = SLUICE_TRY(fields.count("max_tokens")).value_or(kCompletionTokens);
  call.echoes = SLUICE_TRY(fields.flag("echo"));
  SLUICE_TRY(fields.check_unused("best_of", {1}));
  SLUICE_TRY(fields.check_unused("logprobs", {}));
  SLUICE_TRY(fields.check_unused("suffix", {""}));
  SLUICE_TRY(fields.check_all_read());
  return call;
}

Result<TextCall> read_chat(std::string_view body) {
  TextCall call;
  Fields fields = SLUICE_TRY(fields_of(body));
  SLUICE_TRY(read_openai(fields, call));
  SLUICE_TRY(read_messages(fields, call));
  const auto old_name = SLUICE_TRY(fields.count("max_tokens"));
  call.max_tokens = SLUICE_TRY(fields.count("max_completion_tokens"));
  if (!call.max_tokens) call.max_tokens = old_name;
  Json variables = fields.take("chat_template_kwargs");
  if (!variables.is_null() && !variables.is_object()) {
    return wrong("chat_template_kwargs: expected an object");
  }
  if (!variables.is_null()) call.variables = std::move(variables);
  SLUICE_TRY(fields.check_unused("tools", {Json::array()}));
  SLUICE_TRY(fields.check_unused("tool_choice", {"none", "auto"}));
  SLUICE_TRY(fields.check_unused("functions", {Json::array()}));
  SLUICE_TRY(fields.check_unused("response_format", {{{"type", "text"}}}));
  SLUICE_TRY(fields.check_unused("modalities", {Json::array({"text"})}));
  SLUICE_TRY(fields.check_unused("logprobs", {false}));
  SLUICE_TRY(fields.check_unused("top_logprobs", {0}));
  SLUICE_TRY(fields.check_all_read());
  return call;
}

Result<TextCall> read_generate(std::string_view body) {
  TextCall call;
  Fields fields = SLUICE_TRY(fields_of(body));
  auto text = SLUICE_TRY(fields.text("text_input"));
  if (!text || text->empty()) return wrong("text_input: missing");
  call.prompt = std::move(*text);
  call.id = SLUICE_TRY(fields.text("id")).value_or("");
  SLUICE_TRY(fields.merge("parameters"));
  SLUICE_TRY(read_shared(fields, call));
  SLUICE_TRY(read_stops(fields, "stop_words", call));
  call.max_tokens = SLUICE_TRY(fields.count("max_tokens")).value_or(kCompletionTokens);
  const Json excludes = fields.take("exclude_input_in_output");
  call.echoes = excludes == false;
  SLUICE_TRY(fields.check_unused("bad_words", {"", Json::array()}));
  SLUICE_TRY(fields.check_unused("n", {1}));
  SLUICE_TRY(fields.check_all_read());
  return call;
}

}  // namespace sluice::http
