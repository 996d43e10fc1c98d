// Checked access to the fields of tokenizer.json, which has megabytes of vocabulary: simdjson reads
// it.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::text {

/// A value of a JSON text, and its path for messages: "model.vocab". Borrows the document. A field
/// that is null counts as absent.
class Field {
 public:
  Field(simdjson::dom::element value, std::string path) : value_(value), path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  const simdjson::dom::element& element() const { return value_; }

  std::optional<Field> find(std::string_view name) const;
  /// Fails: kInvalidArgument, as everything below, if it is missing or has another type.
  Result<Field> member(std::string_view name) const;
  Result<std::vector<Field>> items() const;

  Result<std::string_view> text() const;
  Result<std::int64_t> whole() const;
  Result<double> number() const;
  Result<bool> truth() const;

  Result<std::string_view> text_of(std::string_view name) const;
  /// Empty if the field is absent.
  Result<std::string_view> text_or_none(std::string_view name) const;
  Result<bool> truth_or(std::string_view name, bool fallback) const;
  Result<std::int64_t> whole_or(std::string_view name, std::int64_t fallback) const;
  /// The field `type`, by which kinds of normalizers, models and the like are told apart.
  Result<std::string_view> kind() const { return text_of("type"); }
  /// "pre_tokenizer: the kind \"X\" is not supported".
  Status unknown_kind(std::string_view kind) const;
  Status error(std::string_view problem) const;

 private:
  simdjson::dom::element value_;
  std::string path_;
};

/// Owns a parsed text. Move-only.
class JsonDocument {
 public:
  /// Fails: kInvalidArgument for what is no JSON, for more than 256 MiB, or a depth over 64.
  static Result<JsonDocument> parse(std::string_view text);

  Field root() const { return {root_, ""}; }

 private:
  std::unique_ptr<simdjson::dom::parser> parser_;
  simdjson::dom::element root_;
};

}  // namespace sluice::text
