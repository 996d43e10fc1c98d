#include "base/status.h"

#include <array>

namespace sluice {

std::string_view code_name(Code code) {
  // In the order of the codes of gRPC.
  static constexpr std::array<std::string_view, 17> kNames = {"ok",
                                                              "cancelled",
                                                              "unknown",
                                                              "invalid argument",
                                                              "deadline exceeded",
                                                              "not found",
                                                              "already exists",
                                                              "permission denied",
                                                              "resource exhausted",
                                                              "failed precondition",
                                                              "aborted",
                                                              "out of range",
                                                              "unimplemented",
                                                              "internal error",
                                                              "unavailable",
                                                              "data loss",
                                                              "unauthenticated"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "unknown code";
}

Status Status::with_context(std::string_view context) && {
  if (!is_ok()) message_ = fmt::format("{}: {}", context, message_);
  return std::move(*this);
}

Status Status::with_context(std::string_view context) const& {
  return Status(*this).with_context(context);
}

std::string Status::to_string() const {
  return is_ok() ? "ok" : fmt::format("{}: {}", code_name(code_), message_);
}

}  // namespace sluice
