// The result of a call or a request as a number.
//
// The numbers stand in sluice/status.h. Each has a status code and a remedy for the user.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sluice::terms {

struct RuntimeCodeInfo {
  RuntimeCode code = RuntimeCode::kOk;
  std::string_view name;  ///< "queue full"
  Code status_code = Code::kOk;
  std::string_view remedy;  ///< what to do; a sentence
};

/// All of them, by number.
std::span<const RuntimeCodeInfo> runtime_codes();

/// Unknown numbers become kFailed.
const RuntimeCodeInfo& describe(RuntimeCode code);

/// The detail of `status`; without a detail, a code derived from its gRPC code.
RuntimeCode runtime_code_of(const Status& status);

/// A Status with the gRPC code that goes with `code`, and `code` as its detail.
/// Requires: `code` is not kOk.
template <typename... Args>
Status runtime_error(RuntimeCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(describe(code).status_code, static_cast<std::int32_t>(code),
                fmt::format(format, std::forward<Args>(args)...));
}

/// The code of an error that ended a run without a detail of its own. kInvalidArgument and
/// kOutOfRange say that the values or shapes of the request do not fit: kBadInput. A lost device,
/// too little memory, a passed deadline and a cancellation keep their codes; all else is a
/// kernel's: kCompletedWithError.
RuntimeCode run_code_of(const Status& status);

/// `status` with another detail; its gRPC code and message stay.
Status with_runtime_code(const Status& status, RuntimeCode code);

/// Errors in the order of their occurrence: the first is the cause, the others are consequences.
class ErrorList {
 public:
  struct Entry {
    RuntimeCode code = RuntimeCode::kOk;
    std::string message;
    std::string_view remedy;  ///< of the code
  };

  ErrorList() = default;
  explicit ErrorList(const Status& status) { add(status); }

  /// Nothing for an ok status.
  void add(const Status& status);
  bool empty() const { return entries_.empty(); }
  std::span<const Entry> entries() const { return entries_; }
  /// Code of the first; kOk if there is none.
  RuntimeCode code() const { return entries_.empty() ? RuntimeCode::kOk : entries_.front().code; }
  /// All in one: code of the first, messages joined with "; ".
  Status to_status() const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace sluice::terms
