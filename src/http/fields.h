// Fields of a request's JSON. A field is read once and then no longer there: what is left in the
// end is not known here.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sluice::http {

/// The fields of an object that nobody has read yet. A null is as good as no field. Reads fail with
/// kInvalidArgument for another type or range, naming the field. Used by one thread.
class Fields {
 public:
  using Json = nlohmann::ordered_json;
  static constexpr std::size_t kMaxBodyBytes = std::size_t{4} << 20;
  static constexpr std::int64_t kMaxCount = std::int64_t{1} << 40;

  explicit Fields(Json object) : object_(std::move(object)) {}
  /// Reads the body of a request.
  /// Fails: kInvalidArgument for what is no such JSON, more than kMaxBodyBytes, or too deep.
  static Result<Fields> read(std::string_view body);

  /// Null if there is none.
  Json take(const char* name);
  Result<std::optional<std::string>> text(const char* name);
  Result<bool> flag(const char* name);
  Result<std::optional<std::int64_t>> count(const char* name, std::int64_t least = 0,
                                            std::int64_t most = kMaxCount);
  Result<std::optional<float>> number(const char* name);
  /// A list; none if there is no field.
  Result<std::vector<Json>> items(const char* name, std::size_t most);
  /// A text that is not empty: "model", which every call names.
  Result<std::string> required(const char* name);
  /// The fields of the object `name` are this one's, too.
  Status merge(const char* name);
  /// Refuses values other than those that change nothing. Fails: kUnimplemented.
  Status check_unused(const char* name, std::initializer_list<Json> harmless);
  /// Refuses members that were not read, except those that change no answer, such as "user".
  Status check_all_read();

  static Result<std::int64_t> count_of(const Json& value, const char* name, std::int64_t least,
                                       std::int64_t most);

 private:
  Json object_;
};

}  // namespace sluice::http
