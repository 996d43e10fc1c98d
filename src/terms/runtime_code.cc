#include "terms/runtime_code.h"

#include <algorithm>
#include <array>

namespace sluice::terms {
namespace {

// Metrics have these names as labels (with _ for a space), so they never change.
constexpr std::array<RuntimeCodeInfo, 16> kCodes = {{
    {RuntimeCode::kOk, "ok", Code::kOk, "Nothing to do."},
    {RuntimeCode::kFailed, "failed", Code::kFailedPrecondition,
     "Read the message: the call does not fit the state of what it was made on."},
    {RuntimeCode::kInvalid, "invalid", Code::kInvalidArgument,
     "Correct the argument, or compile the package again."},
    {RuntimeCode::kInvalidHandle, "invalid handle", Code::kNotFound,
     "Use a handle that load or create gave and that was not unloaded or destroyed since."},
    {RuntimeCode::kOutOfResources, "out of resources", Code::kResourceExhausted,
     "Unload models that are not needed, lower the depth, or raise the budget."},
    {RuntimeCode::kTimeout, "timeout", Code::kDeadlineExceeded,
     "Give more time, send fewer requests at once, or look at the queue times in the statistics."},
    {RuntimeCode::kDeviceError, "device error", Code::kUnavailable,
     "Reset the model when its device works again, or load the model on another device."},
    {RuntimeCode::kQueueFull, "queue full", Code::kResourceExhausted,
     "Retry after the time in the message, or load the model with a larger depth or queue limit."},
    {RuntimeCode::kModelFailed, "model failed", Code::kFailedPrecondition,
     "Reset the model, or unload it and load it again."},
    {RuntimeCode::kNotEnoughCores, "not enough cores", Code::kResourceExhausted,
     "Destroy groups that are not needed, or use a larger group."},
    {RuntimeCode::kUnsupportedVersion, "unsupported version", Code::kUnimplemented,
     "Compile the package with a compiler of this version, or update the runtime."},
    {RuntimeCode::kPending, "pending", Code::kUnavailable, "Ask again, or wait."},
    {RuntimeCode::kCancelled, "cancelled", Code::kCancelled,
     "Nothing, if it was meant; else send the request again to a model that is started."},
    {RuntimeCode::kBadInput, "bad input", Code::kInvalidArgument,
     "Send what the model's signature says, and values that its operators take."},
    {RuntimeCode::kNumericError, "numeric error", Code::kDataLoss,
     "Look at the inputs for NaN and infinities; the model's policy says what NaN leads to."},
    {RuntimeCode::kCompletedWithError, "completed with error", Code::kInternal,
     "Run the model on the backend \"reference\" and compare; report a kernel that fails."},
}};

RuntimeCode suggested_by(Code code) {
  switch (code) {
    case Code::kOk: return RuntimeCode::kOk;
    case Code::kCancelled: return RuntimeCode::kCancelled;
    case Code::kInvalidArgument:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
    case Code::kDataLoss: return RuntimeCode::kInvalid;
    case Code::kDeadlineExceeded: return RuntimeCode::kTimeout;
    case Code::kNotFound: return RuntimeCode::kInvalid;
    case Code::kResourceExhausted: return RuntimeCode::kOutOfResources;
    case Code::kUnavailable: return RuntimeCode::kDeviceError;
    default: return RuntimeCode::kFailed;
  }
}

}  // namespace

std::span<const RuntimeCodeInfo> runtime_codes() { return kCodes; }

const RuntimeCodeInfo& describe(RuntimeCode code) {
  const auto* const found = std::ranges::find(kCodes, code, &RuntimeCodeInfo::code);
  // An unknown number may come from a newer daemon; kCodes[1] is "failed".
  return found == kCodes.end() ? kCodes[1] : *found;
}

RuntimeCode runtime_code_of(const Status& status) {
  if (status.is_ok() || status.detail() == 0) return suggested_by(status.code());
  return describe(static_cast<RuntimeCode>(status.detail())).code;
}

RuntimeCode run_code_of(const Status& status) {
  if (status.is_ok() || status.detail() != 0) return runtime_code_of(status);
  switch (status.code()) {
    case Code::kInvalidArgument:
    case Code::kOutOfRange: return RuntimeCode::kBadInput;
    case Code::kCancelled:
    case Code::kDeadlineExceeded:
    case Code::kResourceExhausted:
    case Code::kUnavailable: return suggested_by(status.code());
    default: return RuntimeCode::kCompletedWithError;
  }
}

Status with_runtime_code(const Status& status, RuntimeCode code) {
  return Status(status.code(), static_cast<std::int32_t>(code), status.message());
}

void ErrorList::add(const Status& status) {
  if (status.is_ok()) return;
  const RuntimeCode code = runtime_code_of(status);
  entries_.push_back({code, status.message(), describe(code).remedy});
}

Status ErrorList::to_status() const {
  if (entries_.empty()) return ok_status();
  std::string text;
  for (const Entry& entry : entries_) {
    if (!text.empty()) text += "; ";
    text += entry.message;
  }
  return runtime_error(code(), "{}", text);
}

}  // namespace sluice::terms
