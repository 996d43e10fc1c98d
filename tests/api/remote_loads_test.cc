// Loads that wait for cores of a daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "client/remote_runtime.h"
#include "package/facts.h"
#include "rpc/testing/serving.h"
#include "runtime/inference/thread_driver.h"

namespace sluice::client {
namespace {

using ::testing::HasSubstr;

/// No test waits so long.
constexpr api::TimeoutNs kLongNs = 10'000'000'000;

class RemoteLoadsTest : public rpc::testing::ServingTest<runtime::ThreadDrivers> {
 protected:
  RemoteLoadsTest() : ServingTest(options()) {
    api::ConnectSettings settings;
    settings.address = address();
    runtime_ = connect(settings).value();
  }
  ~RemoteLoadsTest() override {
    runtime_->shutdown(0);
    stop();
  }

  /// Cores are one model's alone, so that they run out.
  static service::ServiceOptions options() {
    service::ServiceOptions options;
    options.shares_cores = false;
    return options;
  }

  std::uint64_t take(std::int32_t num_cores) {
    api::GroupSettings settings;
    settings.cores.num_cores = num_cores;
    return runtime_->create_group(settings).value();
  }

  api::LoadSettings in_memory(api::TimeoutNs timeout_ns) const {
    api::LoadSettings settings;
    settings.options.name = "m";
    settings.package = map_file(package_).value();
    settings.timeout_ns = timeout_ns;
    return settings;
  }

  std::unique_ptr<api::Runtime> runtime_;
};

RuntimeCode code_of(const Status& status) { return terms::runtime_code_of(status); }

TEST_F(RemoteLoadsTest, PackageInMemoryIsNotSentAgainWhileCoresAreTaken) {
  const std::uint64_t all = take(4);
  const Status waits = runtime_->load(in_memory(kLongNs)).status();
  EXPECT_EQ(waits.code(), Code::kUnimplemented) << waits.to_string();
  EXPECT_THAT(waits.message(), HasSubstr("create a group with the timeout"));
  EXPECT_EQ(code_of(runtime_->load(in_memory(0)).status()), RuntimeCode::kNotEnoughCores);
  EXPECT_TRUE(runtime_->destroy_group(all).is_ok());
  const auto loaded = runtime_->load(in_memory(kLongNs));
  EXPECT_TRUE(loaded.is_ok()) << "cores are free: " << loaded.status().to_string();
}

TEST_F(RemoteLoadsTest, LoadOnAGroupThatIsTooSmallDoesNotWait) {
  ASSERT_TRUE(package::write_package(*runtime::testing::add_relu_in({2}), package_).is_ok());
  api::LoadSettings settings = in_memory(kLongNs);
  settings.options.group = terms::CoreGroupId(static_cast<std::int32_t>(take(1)));
  EXPECT_EQ(code_of(runtime_->load(settings).status()), RuntimeCode::kNotEnoughCores);
}

TEST_F(RemoteLoadsTest, PackageInMemoryGivesAModelItsName) {
  auto named = *runtime::testing::add_relu();
  named.graph.metadata[package::kNameFact] = "adder";
  ASSERT_TRUE(package::write_package(named, package_).is_ok());
  const auto name_after = [&](const api::LoadSettings& settings) {
    const auto model = runtime_->load(settings);
    EXPECT_TRUE(model.is_ok()) << model.status().to_string();
    return runtime_->models(*model)->front().info.name;
  };
  api::LoadSettings settings = in_memory(0);
  settings.options.name = "given";
  EXPECT_EQ(name_after(settings), "given");
  settings.options.name.clear();
  EXPECT_EQ(name_after(settings), "adder");
  settings.package = {};
  settings.path = package_;
  EXPECT_EQ(name_after(settings), "m") << "who names a file again means it";
}

TEST_F(RemoteLoadsTest, PackageThatTheDaemonSeesWaitsForCores) {
  take(4);
  api::LoadSettings settings;
  settings.path = package_;
  settings.timeout_ns = 50'000'000;
  const Status status = runtime_->load(settings).status();
  EXPECT_EQ(code_of(status), RuntimeCode::kTimeout) << status.to_string();
}

}  // namespace
}  // namespace sluice::client
