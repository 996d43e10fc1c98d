#include "rpc/server/load_report/load_handlers.h"

#include <grpcpp/alarm.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "rpc/server/calls/handlers.h"
#include "rpc/server/load_report/load_trailer.h"
#include "rpc/wire/coded_message.h"
#include "rpc/wire/error.h"
#include "rpc/wire/times.h"

namespace sluice::rpc::server {
namespace {

using Report = LoadHandlers::Report;

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kLeastSeconds = 1;
constexpr std::int64_t kMostSeconds = 3600;
constexpr std::int64_t kDefaultSeconds = 30;

/// Ends when its client or the server ends it, at the next look: no alarm is longer than that, as a
/// server waits for its calls.
class ReportCall final : public grpc::ServerWriteReactor<Report> {
 public:
  ReportCall(StreamCounts::Pass pass, const service::Service& service, const Clock& clock,
             std::int64_t interval_ns)
      : pass_(std::move(pass)), service_(service), clock_(clock), interval_ns_(interval_ns) {}

  void tell() {
    next_ns_ = clock_.now_ns() + interval_ns_;
    report_ = to_proto(service_.load_report());
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
    const std::int64_t left_ns = std::max<std::int64_t>(next_ns_ - clock_.now_ns(), 0);
    alarm_.Set(wire::after(std::min(left_ns, wire::kLookNs)), [this](bool /*is_due*/) { look(); });
  }
  void look() {
    if (is_cancelled_) return Finish(grpc::Status::CANCELLED);
    if (clock_.now_ns() >= next_ns_) return tell();
    wait();
  }

  const StreamCounts::Pass pass_;
  const service::Service& service_;
  const Clock& clock_;
  const std::int64_t interval_ns_;
  std::atomic<bool> is_cancelled_ = false;
  std::int64_t next_ns_ = 0;  ///< on the clock
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
  auto* call = new ReportCall(std::move(pass), service_, clock_,
                              std::clamp(wanted, kLeastSeconds, kMostSeconds) * kNsPerSecond);
  call->tell();
  return call;
}

}  // namespace sluice::rpc::server
