// The settings of a model's config.json.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::recipes {

/// Reads fields by name and remembers which: a field that nobody reads may change what the model
/// computes, and `finish` refuses it. The first error is kept, and later reads give fallbacks. Used
/// by one thread.
class Settings {
 public:
  /// `path` is a prefix for messages: "rope_scaling."; empty for the whole file.
  explicit Settings(nlohmann::json object, std::string path = "");

  /// Whether the field is there and not null.
  bool has(std::string_view name) const;
  /// Whether the field is there, if only as null: an absent one may mean another default.
  bool names(std::string_view name) const { return object_.contains(name); }

  std::int64_t whole(std::string_view name, std::int64_t least, std::int64_t most);
  std::int64_t whole_or(std::string_view name, std::int64_t fallback, std::int64_t least,
                        std::int64_t most);
  /// Finite.
  double number(std::string_view name);
  double number_or(std::string_view name, double fallback);
  bool flag_or(std::string_view name, bool fallback);
  std::string text_or(std::string_view name, std::string_view fallback);
  /// The field's value, null without it.
  nlohmann::json value(std::string_view name);
  /// An object within; an empty one if it is absent or null.
  Settings inner(std::string_view name);

  /// Refuses another value than `wanted`.
  void require_flag(std::string_view name, bool wanted);
  void require_text(std::string_view name, std::string_view wanted);
  /// These fields say nothing about what the model computes.
  void ignore(std::initializer_list<std::string_view> names);
  void fail(Status status);

  /// The first error, or the refusal of fields that nobody read and that are neither null nor
  /// false.
  Status finish() const;

 private:
  const nlohmann::json* find(std::string_view name);
  const nlohmann::json* find_required(std::string_view name);
  void expected(std::string_view name, std::string_view what);

  nlohmann::json object_;
  std::string path_;
  std::set<std::string, std::less<>> read_;
  Status status_;
};

}  // namespace sluice::recipes
