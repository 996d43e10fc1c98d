// Statuses of the C interface as C++ exceptions, which become those of sluice.errors.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/status.h"

namespace sluice::python {

/// Thrown by bound functions.
class Failure : public std::exception {
 public:
  Failure(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Code code_;
  std::string message_;
};

/// A message as Python's text, whole. Bytes that are no UTF-8, as names of a damaged model can be,
/// are replaced.
nanobind::str to_text(std::string_view message);

/// Throws the failure that libsluice reports, if `code` is one.
void check(sluice_code code);

/// Sets the exception that sluice.errors.from_status returns as Python's current one.
void set_python_error(const Failure& failure);

/// Makes Failure the exception that sluice.errors.from_status returns.
void register_errors();

}  // namespace sluice::python
