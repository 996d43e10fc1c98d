// Statuses of the C interface as C++ exceptions, which become those of sluice.errors.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace sluice::python {

/// Thrown by bound functions; `code` is a gRPC status code.
class Failure : public std::exception {
 public:
  Failure(std::int32_t code, std::string message) : code_(code), message_(std::move(message)) {}
  std::int32_t code() const { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::int32_t code_;
  std::string message_;
};

inline constexpr std::int32_t kInvalidArgument = 3;
inline constexpr std::int32_t kFailedPrecondition = 9;

/// Throws the failure that libsluice reports, if `code` is one.
void check(std::int32_t code);

/// Sets the exception that sluice.errors.from_status returns as Python's current one.
void set_python_error(const Failure& failure);

/// Makes Failure the exception that sluice.errors.from_status returns.
void register_errors();

}  // namespace sluice::python
