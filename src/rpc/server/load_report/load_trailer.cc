#include "rpc/server/load_report/load_trailer.h"

namespace sluice::rpc::server {

xds::data::orca::v3::OrcaLoadReport to_proto(const service::LoadReport& report) {
  xds::data::orca::v3::OrcaLoadReport to;
  to.set_application_utilization(report.utilization);
  to.set_rps_fractional(report.requests_per_second);
  to.set_eps(report.errors_per_second);
  return to;
}

void add_load_trailer(const service::LoadReport& report, CallContext& context) {
  context.add_trailing_metadata("endpoint-load-metrics-bin", to_proto(report).SerializeAsString());
}

}  // namespace sluice::rpc::server
