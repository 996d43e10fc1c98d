// xds.service.orca.v3: the daemon's load as a stream.
#pragma once

#include "base/clock.h"
#include "proto/orca/load_report.pb.h"
#include "proto/orca/service.pb.h"
#include "rpc/server/health/stream_counts.h"
#include "rpc/server/reactor/methods.h"
#include "service/service.h"

namespace sluice::rpc::server {

/// Any client may ask, without a token, as with HAProxy's agent check: balancers have none, and the
/// figures are no secret.
/// https://github.com/grpc/proposal/blob/master/A51-custom-backend-metrics.md
class LoadHandlers final {
 public:
  /// `service` and `clock` outlive this.
  explicit LoadHandlers(const service::Service& service, const Clock& clock = system_clock())
      : service_(service), clock_(clock) {}

  /// Adds the call of OpenRcaService.
  void add_to(Methods& methods);

  using Report = xds::data::orca::v3::OrcaLoadReport;

  // NOLINTBEGIN(readability-identifier-naming): the calls have the names of the protocol.
  /// A report at once, and one per interval of the request: at least a second, at most an hour, 30
  /// seconds if it names none. RESOURCE_EXHAUSTED beyond 1024 streams, or 16 of one connection.
  void StreamCoreMetrics(CallContext* context,
                         const xds::service::orca::v3::OrcaLoadReportRequest* request);
  // NOLINTEND(readability-identifier-naming)

 private:
  const service::Service& service_;
  const Clock& clock_;
  StreamCounts streams_;
};

}  // namespace sluice::rpc::server
