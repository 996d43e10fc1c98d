#include "rpc/wire/error.h"

#include <algorithm>

#include "base/utf8.h"

namespace sluice::rpc::wire {
namespace {

// gRPC's clients accept 8 KiB of trailing metadata, in which an error travels twice: as text and as
// a message with its causes.
constexpr std::size_t kMaxMessageBytes = 1500;
constexpr std::size_t kMaxCauses = 4;
constexpr std::size_t kMaxCauseBytes = 400;

std::string shortened(std::string_view text, std::size_t most) {
  return text.size() <= most ? valid_utf8(text) : valid_utf8(text.substr(0, most)) + "...";
}

v1::ErrorDetail detail_of(RuntimeCode code) {
  const terms::RuntimeCodeInfo& info = terms::describe(code);
  v1::ErrorDetail detail;
  detail.set_runtime_code(static_cast<std::int32_t>(code));
  detail.set_name(std::string(info.name));
  detail.set_remedy(std::string(info.remedy));
  return detail;
}

void fill(const Status& status, const v1::ErrorDetail& detail, v1::ErrorStatus& to) {
  to.set_code(static_cast<std::int32_t>(status.code()));
  to.set_message(shortened(status.message(), kMaxMessageBytes));
  to.add_details()->PackFrom(detail);
}

grpc::Status as_grpc(const v1::ErrorStatus& from) {
  return grpc::Status(static_cast<grpc::StatusCode>(from.code()), from.message(),
                      from.SerializeAsString());
}

/// `plain` with the code that its peer sent, or else with what it suggests.
Status with_code_of(const Status& plain, const v1::ErrorStatus& sent) {
  auto runtime_code = terms::runtime_code_of(plain);
  v1::ErrorDetail detail;
  if (sent.details_size() > 0 && sent.details(0).UnpackTo(&detail)) {
    runtime_code = terms::describe(static_cast<RuntimeCode>(detail.runtime_code())).code;
  }
  return terms::with_runtime_code(plain, runtime_code);
}

}  // namespace

void to_proto(const Status& status, v1::ErrorStatus& to) {
  fill(status, detail_of(terms::runtime_code_of(status)), to);
}

void to_proto(const terms::ErrorList& errors, v1::ErrorStatus& to) {
  v1::ErrorDetail detail = detail_of(errors.code());
  for (const auto& entry :
       errors.entries().subspan(0, std::min(errors.entries().size(), kMaxCauses))) {
    v1::ErrorDetail::Cause* cause = detail.add_causes();
    cause->set_runtime_code(static_cast<std::int32_t>(entry.code));
    cause->set_message(shortened(entry.message, kMaxCauseBytes));
  }
  fill(errors.to_status(), detail, to);
}

Status from_proto(const v1::ErrorStatus& from) {
  constexpr int kMaxCode = static_cast<int>(Code::kUnauthenticated);
  const bool is_code = from.code() > 0 && from.code() <= kMaxCode;
  const Code code = is_code ? static_cast<Code>(from.code()) : Code::kInternal;
  return with_code_of(Status(code, from.message()), from);
}

grpc::Status to_grpc(const Status& status) {
  if (status.is_ok()) return grpc::Status::OK;
  v1::ErrorStatus all;
  to_proto(status, all);
  return as_grpc(all);
}

grpc::Status to_grpc(const terms::ErrorList& errors) {
  v1::ErrorStatus all;
  to_proto(errors, all);
  return as_grpc(all);
}

Status from_grpc(const grpc::Status& status) {
  if (status.ok()) return ok_status();
  const Status plain(static_cast<Code>(status.error_code()), status.error_message());
  v1::ErrorStatus all;
  if (!all.ParseFromString(status.error_details())) all.Clear();
  return with_code_of(plain, all);
}

}  // namespace sluice::rpc::wire
