#include "text/json/field.h"

namespace sluice::text {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{256} << 20U;
constexpr std::size_t kMaxDepth = 64;

}  // namespace

Status Field::error(std::string_view problem) const {
  return invalid_argument("{}: {}", path_.empty() ? "the file" : path_, problem);
}

Status Field::unknown_kind(std::string_view kind) const {
  return unimplemented("{}: the kind \"{}\" is not supported", path_, kind);
}

std::optional<Field> Field::find(std::string_view name) const {
  simdjson::dom::element value;
  if (value_[name].get(value) || value.is_null()) return std::nullopt;
  return Field(value, path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name));
}

Result<Field> Field::member(std::string_view name) const {
  if (!value_.is_object()) return error("expected an object");
  const auto field = find(name);
  if (!field) return error(fmt::format("the field \"{}\" is missing", name));
  return *field;
}

Result<std::vector<Field>> Field::items() const {
  simdjson::dom::array array;
  if (value_.get(array)) return error("expected a list");
  std::vector<Field> items;
  for (const simdjson::dom::element item : array) {
    items.emplace_back(item, fmt::format("{}[{}]", path_, items.size()));
  }
  return items;
}

Result<std::string_view> Field::text() const {
  std::string_view text;
  if (value_.get(text)) return error("expected a text");
  return text;
}

Result<std::int64_t> Field::whole() const {
  std::int64_t number = 0;
  if (value_.get(number)) return error("expected a whole number");
  return number;
}

Result<double> Field::number() const {
  double number = 0;
  if (value_.get(number)) return error("expected a number");
  return number;
}

Result<bool> Field::truth() const {
  bool truth = false;
  if (value_.get(truth)) return error("expected true or false");
  return truth;
}

Result<std::string_view> Field::text_of(std::string_view name) const {
  const Field field = SLUICE_TRY(member(name));
  return field.text();
}

Result<std::string_view> Field::text_or_none(std::string_view name) const {
  const auto field = find(name);
  if (!field) return std::string_view();
  return field->text();
}

Result<bool> Field::truth_or(std::string_view name, bool fallback) const {
  const auto field = find(name);
  if (!field) return fallback;
  return field->truth();
}

Result<std::int64_t> Field::whole_or(std::string_view name, std::int64_t fallback) const {
  const auto field = find(name);
  if (!field) return fallback;
  return field->whole();
}

Result<JsonDocument> JsonDocument::parse(std::string_view text) {
  if (text.size() > kMaxBytes) {
    return invalid_argument("a JSON text of {} bytes; at most {} are read", text.size(), kMaxBytes);
  }
  JsonDocument document;
  document.parser_ = std::make_unique<simdjson::dom::parser>(kMaxBytes);
  if (const auto error =
          document.parser_->allocate(std::max<std::size_t>(text.size(), 1), kMaxDepth)) {
    return invalid_argument("not JSON: {}", simdjson::error_message(error));
  }
  if (const auto error = document.parser_->parse(text.data(), text.size()).get(document.root_)) {
    return invalid_argument("not JSON: {}", simdjson::error_message(error));
  }
  return document;
}

}  // namespace sluice::text
