#include "rpc/server/open_inference/text_request.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/json/json_reader.h"
#include "base/utf8.h"
#include "completions/language_model.h"
#include "open_inference/datatypes.h"
#include "open_inference/texts.h"
#include "terms/runtime_code.h"

namespace sluice::rpc::server {
namespace {

using Json = nlohmann::ordered_json;
using ir::ElementType;

constexpr const char* kTextOutput = "text_output";
constexpr std::string_view kSampling = "sampling_parameters";
constexpr const char* kFinal = "triton_final_response";
constexpr const char* kWantsEmptyFinal = "triton_enable_empty_final_response";
/// Fields whose texts stay texts, whatever they look like.
constexpr std::array<std::string_view, 5> kTexts = {"text_input", "stop", "stop_words", "bad_words",
                                                    "id"};
constexpr std::size_t kMostLiteralBytes = 32;
constexpr int kMaxDepth = 8;
/// Limits of one input: as much as a request for a text may have in all, and lists of a few words.
constexpr std::size_t kMostBytes = std::size_t{4} << 20;
constexpr std::int64_t kMostElements = 4096;

Status bad(std::string_view name, std::string_view what) {
  return terms::runtime_error(RuntimeCode::kBadInput, "input \"{}\": {}", shown(name), what);
}

Json value_of(std::string_view name, std::string text) {
  const bool is_text = std::ranges::find(kTexts, name) != kTexts.end();
  if (!is_text && text.size() <= kMostLiteralBytes) {
    Json literal = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (literal.is_number() || literal.is_boolean()) return literal;
  }
  return text;
}

Json value_of(std::string_view name, const inference::InferParameter& value) {
  switch (value.parameter_choice_case()) {
    case inference::InferParameter::kBoolParam: return value.bool_param();
    case inference::InferParameter::kInt64Param: return value.int64_param();
    case inference::InferParameter::kUint64Param: return value.uint64_param();
    case inference::InferParameter::kDoubleParam: return value.double_param();
    case inference::InferParameter::kStringParam: return value_of(name, value.string_param());
    case inference::InferParameter::PARAMETER_CHOICE_NOT_SET: break;
  }
  return nullptr;
}

template <typename T>
std::vector<Json> numbers_of(std::string_view bytes) {
  std::vector<Json> values;
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value = {};
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    values.emplace_back(value);
  }
  return values;
}

Result<std::vector<Json>> elements_of(const open_inference::InputTensor& input,
                                      std::int64_t count) {
  const auto type = open_inference::find_datatype(input.datatype);
  if (!type) return bad(input.name, "the protocol has no such datatype");
  switch (*type) {
    case ElementType::kString: {
      std::vector<Json> texts;
      for (const std::string_view text :
           SLUICE_TRY(open_inference::read_texts(input.bytes, count))) {
        if (valid_utf8(text) != text) return bad(input.name, "the text is not UTF-8");
        texts.push_back(value_of(input.name, std::string(text)));
      }
      return texts;
    }
    case ElementType::kBool: {
      std::vector<Json> flags;
      for (const char byte : input.bytes) flags.emplace_back(byte != 0);
      return flags;
    }
    case ElementType::kI8: return numbers_of<std::int8_t>(input.bytes);
    case ElementType::kI16: return numbers_of<std::int16_t>(input.bytes);
    case ElementType::kI32: return numbers_of<std::int32_t>(input.bytes);
    case ElementType::kI64: return numbers_of<std::int64_t>(input.bytes);
    case ElementType::kU8: return numbers_of<std::uint8_t>(input.bytes);
    case ElementType::kU16: return numbers_of<std::uint16_t>(input.bytes);
    case ElementType::kU32: return numbers_of<std::uint32_t>(input.bytes);
    case ElementType::kU64: return numbers_of<std::uint64_t>(input.bytes);
    case ElementType::kF32: return numbers_of<float>(input.bytes);
    case ElementType::kF64: return numbers_of<double>(input.bytes);
    default: return bad(input.name, "a text has no inputs of this datatype");
  }
}

/// One element as itself, others as a list.
Result<Json> field_of(const open_inference::InputTensor& input) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : input.shape) {
    const auto product = checked_mul(count, dimension);
    if (dimension < 0 || !product) return bad(input.name, "the shape cannot be");
    count = *product;
  }
  if (input.bytes.size() > kMostBytes || count > kMostElements) {
    return bad(input.name, "at most 4 MiB and 4096 elements are read");
  }
  std::vector<Json> elements = SLUICE_TRY(elements_of(input, count));
  if (std::cmp_not_equal(elements.size(), count)) {
    return bad(input.name, "the shape has another number of elements than came");
  }
  if (elements.size() == 1) return std::move(elements.front());
  return Json(std::move(elements));
}

Status add_sampling(const Json& text, Json& to) {
  if (!text.is_string()) return bad(kSampling, "expected JSON in a text");
  const auto json = parse_ordered_json(text.get_ref<const std::string&>(), kMaxDepth);
  if (!json.is_ok() || !json->is_object()) return bad(kSampling, "the text is no JSON object");
  for (const auto& [name, value] : json->items()) {
    to[name] = value.is_string() ? value_of(name, value.get<std::string>()) : value;
  }
  return ok_status();
}

bool is_of_protocol(std::string_view name) {
  return name == kWantsEmptyFinal || name.starts_with("sequence_") ||
         name == open_inference::kWaitParameter;
}

void write_head(bool is_final, const dispatch::ModelRef& model,
                const inference::ModelInferRequest& message, inference::ModelInferResponse& to) {
  to.set_model_name(message.model_name());
  to.set_model_version(std::to_string(model.version()));
  to.set_id(message.id());
  (*to.mutable_parameters())[kFinal].set_bool_param(is_final);
}

}  // namespace

bool asks_for_text(const dispatch::ModelRef& model, const inference::ModelInferRequest& message) {
  const auto is_text = [](const auto& input) { return input.name() == completions::kTextInput; };
  return std::ranges::any_of(message.inputs(), is_text) && completions::is_language_model(model);
}

Result<TextBody> read_text_body(const inference::ModelInferRequest& message,
                                const open_inference::InferRequest& plain) {
  static_assert(std::endian::native == std::endian::little);
  Json fields = Json::object();
  for (const open_inference::InputTensor& input : plain.inputs) {
    Json value = SLUICE_TRY(field_of(input));
    if (input.name == kSampling) {
      SLUICE_TRY(add_sampling(value, fields));
    } else {
      fields[std::string(input.name)] = std::move(value);
    }
  }
  for (const auto& [name, value] : message.parameters()) {
    if (!is_of_protocol(name)) fields[name] = value_of(name, value);
  }
  const auto stream = fields.find("stream");
  const bool is_streamed = stream != fields.end() && *stream == true;
  return TextBody{fields.dump(-1, ' ', false, Json::error_handler_t::replace), is_streamed};
}

void write_text(std::string_view text, bool is_final, const dispatch::ModelRef& model,
                const inference::ModelInferRequest& message, inference::ModelInferResponse& to) {
  write_head(is_final, model, message, to);
  auto& output = *to.add_outputs();
  output.set_name(kTextOutput);
  output.set_datatype(std::string(open_inference::datatype_name(ElementType::kString)));
  output.add_shape(1);
  const std::array<std::string_view, 1> texts = {text};
  to.add_raw_output_contents(open_inference::write_texts(texts));
}

void write_text_end(const dispatch::ModelRef& model, const inference::ModelInferRequest& message,
                    inference::ModelInferResponse& to) {
  const auto wants = message.parameters().find(kWantsEmptyFinal);
  if (wants != message.parameters().end() && wants->second.bool_param()) {
    write_head(/*is_final=*/true, model, message, to);
  } else {
    write_text({}, /*is_final=*/true, model, message, to);
  }
}

}  // namespace sluice::rpc::server
