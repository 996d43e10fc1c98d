// Arguments of a function, filter, test or macro.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/jinja/values/value.h"

namespace sluice::text::jinja {

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// A function takes its arguments one after the other, by position or by name.
class Call {
 public:
  Call(std::string_view function, Arguments arguments, Work& budget)
      : work(budget), function_(function), arguments_(std::move(arguments)) {}

  Work& work;

  /// The next by position, else the one of this name; null if neither was given.
  const Value* next(std::string_view name);
  /// Fails: kInvalidArgument, as everything below, if it is missing or of another kind.
  Result<Value> value(std::string_view name);
  Result<Value> value_or(std::string_view name, const Value& fallback);
  Result<std::string> text(std::string_view name);
  /// None counts as absent.
  Result<std::string> text_or(std::string_view name, std::string_view fallback);
  Result<std::int64_t> whole_or(std::string_view name, std::int64_t fallback);
  Result<bool> truth_or(std::string_view name, bool fallback);
  /// All that are left.
  std::vector<Value> rest();
  std::vector<std::pair<std::string, Value>> named_rest();

  std::string_view function() const { return function_; }
  /// Whether all arguments were taken.
  Status finish() const;
  Status error(std::string_view problem) const;

 private:
  Result<std::string> copy_of(const std::string& text);

  std::string function_;
  Arguments arguments_;
  std::size_t next_ = 0;
};

}  // namespace sluice::text::jinja
