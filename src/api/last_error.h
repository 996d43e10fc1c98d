// The text behind sluice_last_error().
#pragma once

#include <exception>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace sluice::api {

/// The message of the calling thread's last failure; "" until something fails.
const char* last_error();

/// The Status of the calling thread's last failure; ok until something fails.
const Status& last_status();

/// Keeps a failure for `last_error`. Gives the code as a number.
std::int32_t report(const Status& status);

inline Status null_argument(std::string_view what) { return invalid_argument("{} is null", what); }

/// What `function`, which returns a Status, reports; nothing it throws reaches the C caller.
template <typename Function>
std::int32_t guard(Function&& function) noexcept {
  try {
    return report(std::forward<Function>(function)());
  } catch (const std::exception& error) {
    return report(internal_error("{}", error.what()));
  } catch (...) {
    return report(internal_error("unknown exception"));
  }
}

}  // namespace sluice::api
