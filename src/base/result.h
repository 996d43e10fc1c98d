// A value or the Status that says why there is none.
#pragma once

#include <cassert>
#include <optional>
#include <utility>

#include "base/status.h"

namespace sluice {

/// Holds a `T` or a non-ok Status. `T` may be move-only.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    assert(!status_.is_ok());
  }

  bool is_ok() const { return value_.has_value(); }
  const Status& status() const& { return status_; }
  Status status() && { return std::move(status_); }

  /// Requires: is_ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T value() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }

  Result with_context(std::string_view context) && {
    if (is_ok()) return std::move(*this);
    return std::move(status_).with_context(context);
  }

 private:
  std::optional<T> value_;
  Status status_;
};

namespace detail {
inline Status take_status(Status&& status) { return std::move(status); }
inline Status take_status(const Status& status) { return status; }
template <typename T>
Status take_status(Result<T>&& result) {
  return std::move(result).status();
}
inline void take_value(Status&&) {}
template <typename T>
T take_value(Result<T>&& result) {
  return std::move(result).value();
}
}  // namespace detail

}  // namespace sluice

#define SLUICE_TRY_NAMED(result, expression)                   \
  __extension__({                                              \
    auto result = (expression);                                \
    if (!result.is_ok()) [[unlikely]]                          \
      return ::sluice::detail::take_status(std::move(result)); \
    ::sluice::detail::take_value(std::move(result));           \
  })
#define SLUICE_JOIN_TOKENS(a, b) a##b
#define SLUICE_TRY_COUNTED(counter, expression) \
  SLUICE_TRY_NAMED(SLUICE_JOIN_TOKENS(sluice_result_, counter), expression)

/// Yields the value of a Result (nothing for a Status), or returns its error from the function.
/// May be nested. The value is moved out; the expression is evaluated once.
#define SLUICE_TRY(expression) SLUICE_TRY_COUNTED(__COUNTER__, expression)
