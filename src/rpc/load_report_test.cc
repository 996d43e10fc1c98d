#include <grpcpp/grpcpp.h>

#include "rpc/server/load_report/load_handlers.h"
#include "rpc/testing/serving.h"
#include "rpc/wire/times.h"
#include "runtime/inference/thread_driver.h"
#include "support/eventually.h"
#include "support/manual_clock.h"

namespace sluice::rpc::server {
namespace {

constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;

class LoadHandlersTest : public testing::ServingTest<runtime::ThreadDrivers> {
 protected:
  LoadHandlersTest() : ServingTest({}) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&handlers_);
    reports_ = builder.BuildAndStart();
    stub_ = xds::service::orca::v3::OpenRcaService::NewStub(
        reports_->InProcessChannel(grpc::ChannelArguments()));
  }
  ~LoadHandlersTest() override {
    reports_->Shutdown();
    stop();
  }

  ManualClock clock_;
  LoadHandlers handlers_{service_, clock_};
  std::unique_ptr<grpc::Server> reports_;
  std::unique_ptr<xds::service::orca::v3::OpenRcaService::Stub> stub_;
};

/// The calendar may jump by hours, so it does not count.
TEST_F(LoadHandlersTest, ReportsComeByTheMonotonicClock) {
  grpc::ClientContext context;
  context.set_deadline(wire::after(std::chrono::nanoseconds(sluice::testing::kHang).count()));
  xds::service::orca::v3::OrcaLoadReportRequest request;
  request.mutable_report_interval()->set_seconds(kHour);
  const auto reports = stub_->StreamCoreMetrics(&context, request);
  LoadHandlers::Report report;
  ASSERT_TRUE(reports->Read(&report)) << "the first comes at once";
  for (int i = 0; i < 2; ++i) {
    clock_.advance(kHour * kNsPerSecond);
    ASSERT_TRUE(reports->Read(&report));
  }
  context.TryCancel();
}

}  // namespace
}  // namespace sluice::rpc::server
