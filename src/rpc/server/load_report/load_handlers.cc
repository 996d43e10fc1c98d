#include "rpc/server/load_report/load_handlers.h"

#include <grpcpp/alarm.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

#include "rpc/server/calls/handlers.h"
#include "rpc/wire/coded_message.h"
#include "rpc/wire/error.h"

namespace sluice::rpc::server {
namespace {

using Report = LoadHandlers::Report;
using std::chrono::seconds;
using std::chrono::system_clock;

constexpr std::int64_t kLeastSeconds = 1;
constexpr std::int64_t kMostSeconds = 3600;
constexpr std::int64_t kDefaultSeconds = 30;

Report to_proto(const open_inference::LoadReport& report) {
  Report to;
  to.set_application_utilization(report.utilization);
  to.set_rps_fractional(report.requests_per_second);
  to.set_eps(report.errors_per_second);
  return to;
}

/// Ends when its client or the server ends it, at the next look: no alarm is longer than that, as a
/// server waits for its calls.
class ReportCall final : public grpc::ServerWriteReactor<Report> {
 public:
  ReportCall(StreamCounts::Pass pass, open_inference::LoadReporter& reporter, seconds interval)
      : pass_(std::move(pass)), reporter_(reporter), interval_(interval) {}

  void tell() {
    next_ = system_clock::now() + interval_;
    report_ = to_proto(reporter_.report());
    StartWrite(&report_);
  }

  void OnWriteDone(bool is_ok) override {
    if (!is_ok) return Finish(grpc::Status::CANCELLED);
    wait();
  }
  void OnCancel() override { is_cancelled_ = true; }
  void OnDone() override { delete this; }

 private:
  void wait() {
    alarm_.Set(std::min<system_clock::time_point>(next_, system_clock::now() + kLookPeriod),
               [this](bool /*is_due*/) { look(); });
  }
  void look() {
    if (is_cancelled_) return Finish(grpc::Status::CANCELLED);
    if (system_clock::now() >= next_) return tell();
    wait();
  }

  const StreamCounts::Pass pass_;
  open_inference::LoadReporter& reporter_;
  const seconds interval_;
  std::atomic<bool> is_cancelled_ = false;
  system_clock::time_point next_;
  Report report_;
  grpc::Alarm alarm_;
};

}  // namespace

grpc::ServerWriteReactor<Report>* LoadHandlers::StreamCoreMetrics(
    grpc::CallbackServerContext* context,
    const xds::service::orca::v3::OrcaLoadReportRequest* request) {
  const Status inflated = wire::inflate(*request, Handlers::kMaxProbeBytes);
  if (!inflated.is_ok()) return new RefusedStream<Report>(wire::to_grpc(inflated));
  auto pass = streams_.enter(context->peer());
  if (pass == nullptr) {
    return new RefusedStream<Report>(
        {grpc::StatusCode::RESOURCE_EXHAUSTED,
         "too many streams of reports, in all or over this connection"});
  }
  const std::int64_t wanted =
      request->has_report_interval() ? request->report_interval().seconds() : kDefaultSeconds;
  auto* call = new ReportCall(std::move(pass), reporter_,
                              seconds(std::clamp(wanted, kLeastSeconds, kMostSeconds)));
  call->tell();
  return call;
}

}  // namespace sluice::rpc::server
