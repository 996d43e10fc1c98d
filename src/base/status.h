// Errors as values: a code of sluice/status.h, a message a user can act on, and where it happened.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/status.h"

namespace sluice {

/// `kInvalidArgument` -> "invalid argument".
std::string_view code_name(Code code);

/// Success, or a code with a message. Value type; threads share nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  Status(Code code, std::int32_t detail, std::string message)
      : code_(code), detail_(detail), message_(std::move(message)) {}

  bool is_ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  /// A finer code of the layer that failed (terms/runtime_code.h); 0 for none. Added
  /// context keeps it.
  std::int32_t detail() const { return detail_; }
  const std::string& message() const { return message_; }

  /// Puts `context` before the message: `loading a.sluice: section "plan" is truncated`.
  Status with_context(std::string_view context) &&;
  Status with_context(std::string_view context) const&;

  /// "ok", or "invalid argument: the message".
  std::string to_string() const;

 private:
  Code code_ = Code::kOk;
  std::int32_t detail_ = 0;
  std::string message_;
};

inline Status ok_status() { return {}; }

template <typename... Args>
Status make_error(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
Status invalid_argument(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(Code::kInvalidArgument, format, std::forward<Args>(args)...);
}

template <typename... Args>
Status unimplemented(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(Code::kUnimplemented, format, std::forward<Args>(args)...);
}

template <typename... Args>
Status internal_error(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(Code::kInternal, format, std::forward<Args>(args)...);
}

}  // namespace sluice
