#include "rpc/server/load_report/load_handlers.h"

#include <algorithm>
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

/// A test's clock may stand still, so the call looks at it each half second.
class ReportCall final : public Reactor {
 public:
  ReportCall(CallContext& context, StreamCounts::Pass pass, const service::Service& service,
             const Clock& clock, std::int64_t interval_ns)
      : Reactor(context),
        pass_(std::move(pass)),
        service_(service),
        clock_(clock),
        interval_ns_(interval_ns) {
    tell();
  }

  void on_write_done(bool is_ok) override {
    if (is_ok) wait();
  }
  void on_time() override {
    if (clock_.now_ns() >= next_ns_) return tell();
    wait();
  }
  void on_cancel() override { finish(grpc::Status::CANCELLED); }
  void on_done() override { delete this; }

 private:
  void tell() {
    next_ns_ = clock_.now_ns() + interval_ns_;
    start_write(to_proto(service_.load_report()));
  }
  void wait() {
    const std::int64_t left_ns = std::max<std::int64_t>(next_ns_ - clock_.now_ns(), 0);
    start_timer(std::min(left_ns, wire::kLookNs));
  }

  const StreamCounts::Pass pass_;
  const service::Service& service_;
  const Clock& clock_;
  const std::int64_t interval_ns_;
  std::int64_t next_ns_ = 0;  ///< on the clock
};

}  // namespace

void LoadHandlers::add_to(Methods& methods) {
  ServiceMethods<LoadHandlers>(methods, "xds.service.orca.v3.OpenRcaService", *this)
      .add("StreamCoreMetrics", &LoadHandlers::StreamCoreMetrics);
}

void LoadHandlers::StreamCoreMetrics(CallContext* context,
                                     const xds::service::orca::v3::OrcaLoadReportRequest* request) {
  const Status inflated = wire::inflate(*request, Handlers::kMaxProbeBytes);
  if (!inflated.is_ok()) return context->finish(wire::to_grpc(inflated));
  auto pass = streams_.enter(context->connection());
  if (pass == nullptr) {
    return context->finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                            "too many streams of reports, in all or over this connection"});
  }
  const std::int64_t wanted =
      request->has_report_interval() ? request->report_interval().seconds() : kDefaultSeconds;
  new ReportCall(*context, std::move(pass), service_, clock_,
                 std::clamp(wanted, kLeastSeconds, kMostSeconds) * kNsPerSecond);
}

}  // namespace sluice::rpc::server
