// A notation read character by character, with errors that say where.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace sluice::grammar {

/// Borrows the text. Used by one thread at a time.
class Scanner {
 public:
  /// Requires: UTF-8.
  explicit Scanner(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }
  std::string_view since(std::size_t begin) const { return text_.substr(begin, at_ - begin); }
  bool is_at_end() const { return at_ == text_.size(); }
  /// The next byte; 0 at the end.
  char peek() const { return is_at_end() ? '\0' : text_[at_]; }
  bool sees(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  /// Passes it if it is next.
  bool take(std::string_view what) {
    if (!sees(what)) return false;
    at_ += what.size();
    return true;
  }
  /// Requires: not at the end.
  char32_t take_character();
  /// Up to nine digits.
  std::optional<std::int64_t> take_number();
  /// So many hexadecimal digits. Fails: kInvalidArgument.
  Result<char32_t> take_hex(std::size_t digits);

  /// "line 3: expected ..." in texts of several lines, "character 5: ..." else.
  template <typename... Args>
  Status error(fmt::format_string<Args...> format, Args&&... args) const {
    return error_of(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  Status error_of(std::string_view problem) const;

  std::string_view text_;
  std::size_t at_ = 0;
};

/// How often a part comes, {3}, {3,} or {3,5}, behind the brace that opens.
/// Fails: kInvalidArgument for something else, or more than 10,000.
struct Count {
  std::int64_t least = 1;
  std::optional<std::int64_t> most = 1;
};
Result<Count> read_count(Scanner& scanner);

}  // namespace sluice::grammar
