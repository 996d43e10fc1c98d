#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>

#include <array>

#include "proto/orca/service.grpc.pb.h"
#include "rpc/server/door/door.h"
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
    handlers_.add_to(methods_);
    EXPECT_TRUE(door_.start().is_ok());
    std::array<int, 2> ends = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    door_.serve(ends[0], {}, "this test", /*is_trusted=*/true);
    stub_ = xds::service::orca::v3::OpenRcaService::NewStub(
        grpc::CreateInsecureChannelFromFd("reports", ends[1]));
  }
  ~LoadHandlersTest() override {
    door_.shutdown(0);
    stop();
  }

  ManualClock clock_;
  LoadHandlers handlers_{service_, clock_};
  Methods methods_;
  ConnectionLimits limits_{1, 1};
  Door door_{CallSettings{methods_, 1 << 20, std::make_shared<ByteBudget>(1 << 20)}, limits_, log_,
             nullptr};
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
