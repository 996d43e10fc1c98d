#include "rpc/error.h"

#include <algorithm>

#include "base/utf8.h"
#include "proto/sluice/v1/control.pb.h"

namespace sluice::rpc {
namespace {

constexpr std::size_t kMostMessageBytes = 1500;
constexpr std::size_t kMostCauses = 4;
constexpr std::size_t kMostCauseBytes = 400;

std::string shortened(std::string_view text, std::size_t most) {
  return text.size() <= most ? valid_utf8(text) : valid_utf8(text.substr(0, most)) + "...";
}

v1::ErrorDetail detail_of(runtime::RuntimeCode code) {
  const runtime::RuntimeCodeInfo& info = runtime::describe(code);
  v1::ErrorDetail detail;
  detail.set_runtime_code(static_cast<std::int32_t>(code));
  detail.set_name(std::string(info.name));
  detail.set_remedy(std::string(info.remedy));
  return detail;
}

grpc::Status with_detail(const Status& status, const v1::ErrorDetail& detail) {
  v1::ErrorStatus all;
  all.set_code(static_cast<std::int32_t>(status.code()));
  all.set_message(shortened(status.message(), kMostMessageBytes));
  all.add_details()->PackFrom(detail);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), all.message(),
                      all.SerializeAsString());
}

}  // namespace

grpc::Status to_grpc(const Status& status) {
  if (status.is_ok()) return grpc::Status::OK;
  return with_detail(status, detail_of(runtime::runtime_code_of(status)));
}

grpc::Status to_grpc(const runtime::ErrorList& errors) {
  v1::ErrorDetail detail = detail_of(errors.code());
  for (const auto& entry :
       errors.entries().subspan(0, std::min(errors.entries().size(), kMostCauses))) {
    v1::ErrorDetail::Cause* cause = detail.add_causes();
    cause->set_runtime_code(static_cast<std::int32_t>(entry.code));
    cause->set_message(shortened(entry.message, kMostCauseBytes));
  }
  return with_detail(errors.to_status(), detail);
}

Status from_grpc(const grpc::Status& status) {
  if (status.ok()) return ok_status();
  const auto code = static_cast<Code>(status.error_code());
  const Status plain(code, status.error_message());
  auto runtime_code = runtime::runtime_code_of(plain);
  v1::ErrorStatus all;
  v1::ErrorDetail detail;
  if (all.ParseFromString(status.error_details()) && all.details_size() > 0 &&
      all.details(0).UnpackTo(&detail)) {
    runtime_code = runtime::describe(static_cast<runtime::RuntimeCode>(detail.runtime_code())).code;
  }
  return runtime::with_runtime_code(plain, runtime_code);
}

}  // namespace sluice::rpc
