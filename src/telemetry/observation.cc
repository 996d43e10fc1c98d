#include "telemetry/observation.h"

#include "base/clock.h"
#include "base/no_memory.h"
#include "telemetry/telemetry.h"
#include "telemetry/traffic_file.h"

namespace sluice::telemetry {
namespace {

/// Limit of an error and of a call in a record: both hold what a client sent, as long as a message.
constexpr std::size_t kMaxTextBytes = 512;

Code code_of(int http_status) {
  constexpr int kFirstError = 400;
  switch (http_status) {
    case 400: return Code::kInvalidArgument;
    case 401: return Code::kUnauthenticated;
    case 403: return Code::kPermissionDenied;
    case 404: return Code::kNotFound;
    case 408: return Code::kDeadlineExceeded;
    case 409: return Code::kAlreadyExists;
    case 413:
    case 421: return Code::kInvalidArgument;
    case 429: return Code::kResourceExhausted;
    case 499: return Code::kCancelled;
    case 501: return Code::kUnimplemented;
    case 502:
    case 503: return Code::kUnavailable;
    case 504: return Code::kDeadlineExceeded;
    default: return http_status < kFirstError ? Code::kOk : Code::kUnknown;
  }
}

bool is_recordable(std::span<const terms::TensorView> inputs) {
  if (inputs.size() > kMaxRecordedInputs) return false;
  std::int64_t left_bytes = kMaxRecordedBytes;
  for (const terms::TensorView& view : inputs) {
    if (view.dims.size() > kMaxRecordedRank || view.size_bytes > left_bytes) return false;
    left_bytes -= view.size_bytes;
  }
  return true;
}

}  // namespace

Observation::~Observation() {
  // A request that no memory is left for goes without a span and a line.
  const Status ignored = catch_no_memory([this] {
    telemetry_->end(std::move(record_));
    return ok_status();
  });
  static_cast<void>(ignored);
}

void Observation::set_call(std::string_view method_and_path) {
  record_.call = method_and_path.substr(0, kMaxTextBytes);
}

void Observation::set_http_reply(int status, std::int64_t bytes_in, std::int64_t bytes_out) {
  record_.http_status = status;
  if (record_.submitted_ns != 0) return;
  record_.bytes_in = bytes_in;
  record_.bytes_out = bytes_out;
  // Calls that no request of a model answers, such as a look at the metadata, have this status
  // alone.
  if (record_.code == Code::kCancelled) record_.code = code_of(status);
}

void Observation::submitted(std::int64_t bytes_in, std::int64_t engine_now_ns) {
  record_.bytes_in = bytes_in;
  record_.submitted_ns = system_clock().now_ns();
  record_.engine_offset_ns = record_.submitted_ns - engine_now_ns;
}

bool Observation::keeps_inputs() const { return telemetry_->traffic_sink_ != nullptr; }

void Observation::keep_inputs(const terms::Signature& signature,
                              std::span<const terms::TensorView> inputs, std::int32_t priority) {
  if (!keeps_inputs() || !is_recordable(inputs)) return;
  record_.priority = priority;
  const Status copied = catch_no_memory([&]() -> Status {
    record_.inputs_charge = SLUICE_TRY(telemetry_->traffic_room_(record_.bytes_in));
    copy_inputs(signature, inputs);
    return ok_status();
  });
  if (copied.is_ok()) return;
  record_.inputs.clear();
  record_.inputs_charge = {};
}

void Observation::copy_inputs(const terms::Signature& signature,
                              std::span<const terms::TensorView> inputs) {
  for (std::size_t i = 0; i < inputs.size() && i < signature.inputs.size(); ++i) {
    const terms::TensorView& view = inputs[i];
    const auto size = static_cast<std::size_t>(view.size_bytes);
    std::string bytes(static_cast<const char*>(view.data), size);
    record_.inputs.push_back({signature.inputs[i].name, static_cast<std::int32_t>(view.element),
                              view.dims, std::move(bytes)});
  }
}

void Observation::answered(const Status& status, terms::ReplyDetail detail,
                           std::int64_t bytes_out) {
  record_.answered_ns = system_clock().now_ns();
  record_.detail = std::move(detail);
  record_.bytes_out = bytes_out;
  record_.code = status.code();
  record_.message = status.message().substr(0, kMaxTextBytes);
}

void Observation::fail(const Status& status) {
  record_.code = status.code();
  record_.message = status.message().substr(0, kMaxTextBytes);
}

const Status& failed(const std::shared_ptr<Observation>& observation, const Status& status) {
  if (observation != nullptr) observation->fail(status);
  return status;
}

}  // namespace sluice::telemetry
