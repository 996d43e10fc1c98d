#include "repository/text_format/field.h"

#include <optional>

#include "base/text/number.h"
#include "open_inference/datatypes.h"

namespace sluice::repository {

Result<std::int64_t> int_of(const TextField& field, std::int64_t least, std::int64_t most) {
  const auto number = to_number<std::int64_t>(field.value);
  // Outside of JSON a number in quotes is a text to Triton's reader, and an error for this field.
  const bool is_number = number && (!field.is_text || field.is_json) && !field.is_message;
  if (is_number && *number >= least && *number <= most) return *number;
  return fail(field, Code::kInvalidArgument, "\"{}\" is no whole number from {} to {}",
              shown(field.value), least, most);
}

Result<bool> bool_of(const TextField& field) {
  // The spellings that protobuf's text format takes.
  if (field.value == "true" || field.value == "True" || field.value == "1") return true;
  if (field.value == "false" || field.value == "False" || field.value == "0") return false;
  return fail(field, Code::kInvalidArgument, "\"{}\" is neither true nor false",
              shown(field.value));
}

Result<std::string> text_of(const TextField& field) {
  if (field.is_text) return field.value;
  return fail(field, Code::kInvalidArgument, "a text in quotes is missing");
}

Result<ir::ElementType> type_of(const TextField& field) {
  // The types are those of the Open Inference Protocol with a prefix, but for the text:
  // TYPE_STRING here is BYTES there.
  constexpr std::string_view kPrefix = "TYPE_";
  const std::string_view name = field.value;
  if (name == "TYPE_STRING") return ir::ElementType::kString;
  const auto type = name.starts_with(kPrefix)
                        ? open_inference::find_datatype(name.substr(kPrefix.size()))
                        : std::nullopt;
  if (type && *type != ir::ElementType::kString) return *type;
  return fail(field, Code::kInvalidArgument, "\"{}\" is no type such as TYPE_FP32", shown(name));
}

Status unserved(const TextField& field, std::string_view why) {
  return fail(field, Code::kUnimplemented, "{}", why);
}

}  // namespace sluice::repository
