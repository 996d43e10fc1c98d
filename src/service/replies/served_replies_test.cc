// The phases of a model that keeps replies, on a simulated device in virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "runtime/testing/engine_testing.h"
#include "runtime/testing/manual_driver.h"
#include "service/service.h"
#include "support/sim.h"

namespace sluice::service {
namespace {

/// A service with one model, which has answered to x = 1.
class ServedRepliesTest : public ::testing::Test {
 protected:
  ServedRepliesTest() {
    OwnModel own;
    own.options.name = "net";
    own.executable = runtime::testing::add_relu_in({1, 1}, "sim");
    terms::DeclaredModel declared;
    declared.keeps_replies = true;
    own.declared = std::make_shared<const terms::DeclaredModel>(std::move(declared));
    const auto entry = service_.load_own(own);
    EXPECT_TRUE(entry.is_ok()) << entry.status().to_string();
    model_ = terms::ModelHandle{entry->info.handle};
    EXPECT_EQ(ask(1).code, RuntimeCode::kOk);
    EXPECT_TRUE(gives_kept());
  }

  runtime::Reply ask(float x) {
    const auto ref = service_.find_model(caller_, model_);
    if (!ref.is_ok()) return runtime::failed_reply(ref.status());
    runtime::Request request = runtime::testing::request_of(x);
    request.exchange_owner = static_cast<std::uint64_t>(caller_.session->owner());
    return runtime::infer((*ref)->sink(), std::move(request));
  }
  bool gives_kept() { return ask(1).is_kept; }
  /// Loses the device, and with it the model.
  void fail() {
    ASSERT_TRUE(sim_.time->inject_fault(R"({"kind": "lost_device", "device": 0})").is_ok());
    EXPECT_EQ(ask(2).code, RuntimeCode::kDeviceError);
  }

  sluice::testing::Sim sim_ = sluice::testing::make_sim().value();
  runtime::ManualDrivers drivers_{*sim_.time};
  const topology::DeviceMap map_ = runtime::testing::sim_map(*sim_.backend);
  runtime::Engine engine_{sim_.registry, drivers_, {map_}};
  NoLog log_;
  Service service_{engine_, map_, {}, log_};
  const Caller caller_ =
      service_.caller_of(terms::Role::kControl, {}, {"", getpid(), geteuid(), -1}).value();
  terms::ModelHandle model_{};
};

TEST_F(ServedRepliesTest, StoppedModelGivesNone) {
  ASSERT_TRUE(service_.stop(caller_, model_, 0).is_ok());
  EXPECT_EQ(ask(1).code, RuntimeCode::kFailed);
  EXPECT_FALSE(service_.stop(caller_, model_, 0).is_ok());
  EXPECT_EQ(ask(1).code, RuntimeCode::kFailed);
  ASSERT_TRUE(service_.start(caller_, model_).is_ok());
  EXPECT_TRUE(gives_kept());
}

TEST_F(ServedRepliesTest, StartedModelGivesThemAfterACallThatDoesNotFitItsPhase) {
  EXPECT_FALSE(service_.reset(caller_, model_).is_ok());
  EXPECT_TRUE(gives_kept());
  EXPECT_FALSE(service_.start(caller_, model_).is_ok());
  EXPECT_TRUE(gives_kept());
}

TEST_F(ServedRepliesTest, ModelThatWasResetGivesNoneBeforeItsStart) {
  fail();
  ASSERT_TRUE(engine_.reset_device(terms::DeviceId(0)).is_ok());
  ASSERT_TRUE(service_.reset(caller_, model_).is_ok());
  EXPECT_EQ(ask(1).code, RuntimeCode::kFailed);
  EXPECT_EQ(ask(2).code, RuntimeCode::kFailed);
  ASSERT_TRUE(service_.start(caller_, model_).is_ok());
  EXPECT_TRUE(gives_kept());
}

TEST_F(ServedRepliesTest, ModelWhoseDeviceWasResetGivesNoneBeforeItsStart) {
  fail();
  ASSERT_TRUE(service_.reset_device(caller_, terms::DeviceId(0)).is_ok());
  EXPECT_EQ(ask(1).code, RuntimeCode::kFailed);
  ASSERT_TRUE(service_.start(caller_, model_).is_ok());
  EXPECT_TRUE(gives_kept());
}

TEST_F(ServedRepliesTest, FailedModelGivesNoneOnceSomebodyTriesToStartOrStopIt) {
  fail();
  EXPECT_FALSE(service_.stop(caller_, model_, 0).is_ok());
  EXPECT_EQ(ask(1).code, RuntimeCode::kModelFailed);
}

}  // namespace
}  // namespace sluice::service
