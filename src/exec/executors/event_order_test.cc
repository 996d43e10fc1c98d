// Segments on several groups of a backend with events: their order, and the time that they take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/device_services.h"
#include "exec/testing/exec_testing.h"
#include "support/sim.h"

namespace sluice::exec {
namespace {

using testing::Aligned;
using ::testing::ElementsAre;
using testing::f32_view;
using testing::floats;
using ::testing::HasSubstr;

/// "b" and "d" need "a" alone.
constexpr std::string_view kTwoArms = R"(
subgraph @0 "main" {
  input %x : f32[4]
  const %c : f32[4] = [1.0, -2.0, 3.0, -4.0]
  [%a : f32[4]] = Add.14[%x, %c] "a"
  [%b : f32[4]] = Relu.14[%a] "b"
  [%d : f32[4]] = Mul.14[%a, %c] "d"
  [%y : f32[4]] = Sub.14[%b, %d] "y"
  output [%y]
}
)";

std::int64_t num_lines(const std::string& log, const std::string& word) {
  std::int64_t count = 0;
  for (auto at = log.find(word); at != std::string::npos; at = log.find(word, at + 1)) ++count;
  return count;
}

/// A segment per operation; "b" and "d" each on a device of its own. A kernel takes 1000 ns.
class EventOrder : public ::testing::Test {
 protected:
  EventOrder() {
    auto executable = testing::executable_of(kTwoArms, "sim");
    executable.segments = {{"a", 0, 1}, {"b", 1, 1}, {"d", 2, 1}, {"y", 3, 1}};
    LoadOptions options;
    options.segments = {{0, {0}}, {1, {0}}, {2, {0}}, {0, {0}}};
    model_.emplace(LoadedModel::load(std::move(executable), sim_.registry, options).value());
  }
  Status run(Context& context) {
    const Status status = context.set_input(0, f32_view(x_, {4}));
    return status.is_ok() ? context.run() : status;
  }

  sluice::testing::Sim sim_ = sluice::testing::make_sim(R"({"devices": [
      {"count": 3, "cores": 1, "own_memory": false, "compute": {"kernel_ns": 1000}}]})")
                                  .value();
  std::optional<LoadedModel> model_;
  Aligned<float> x_{{1, 1, 1, 1}};
};

TEST_F(EventOrder, SegmentsStartWhenTheirInputsAreThereAndNotInOneLine) {
  Context context = model_->create_context().value();
  for (int i = 0; i < 3; ++i) {
    const std::int64_t begin_ns = sim_.time->now_ns();
    const Status status = run(context);
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    EXPECT_THAT(floats(context.output(0)), ElementsAre(0, -2, -8, -12));
    EXPECT_EQ(sim_.time->now_ns() - begin_ns, 3000) << "one after another they take 4000";
  }
  const std::string log = sim_.time->log();
  EXPECT_EQ(num_lines(log, "event_wait"), 3 * 4) << "the last one needs no wait for its own stream";
  EXPECT_EQ(num_lines(log, "event_record event=4"), 0) << "events are used again";
}

TEST_F(EventOrder, FailedSegmentFailsTheRunAndTheNextOneIsRight) {
  Context context = model_->create_context().value();
  ASSERT_TRUE(sim_.time->inject_fault(R"({"kind": "failed_kernel", "node": "b"})").is_ok());
  EXPECT_THAT(run(context).message(), HasSubstr("\"b\""));
  const Status status = run(context);
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_THAT(floats(context.output(0)), ElementsAre(0, -2, -8, -12));
}

TEST_F(EventOrder, LostDeviceLeavesNoStreamWaiting) {
  Context context = model_->create_context().value();
  ASSERT_TRUE(sim_.time->inject_fault(R"({"kind": "lost_device", "device": 0})").is_ok());
  EXPECT_FALSE(run(context).is_ok());
  ASSERT_TRUE(sim_.time->reset_device(0).is_ok());
  EXPECT_TRUE(run(context).is_ok());
}

TEST_F(EventOrder, ContextsTakeTheirStreamsFromThePoolOfTheGroup) {
  const Context first = model_->create_context({}, "resnet").value();
  {
    const Context second = model_->create_context({}, "bert").value();
    ASSERT_EQ(model_->stream_uses(0).size(), 2U);
    EXPECT_EQ(model_->stream_uses(0)[0].owner, "bert");
    EXPECT_EQ(model_->stream_uses(0)[0].num_streams, 1U);
  }
  ASSERT_EQ(model_->stream_uses(0).size(), 1U);
  EXPECT_EQ(model_->stream_uses(0)[0].owner, "resnet");
}

TEST(StreamsOfALoad, FirstContextFindsItsStreamMade) {
  const auto sim = sluice::testing::make_sim().value();
  LoadOptions options;
  options.devices = std::make_shared<device::DeviceServiceTable>(*sim.time);
  const auto services = options.devices->of(sim.backend, 0).value();
  const std::int64_t of_transfers = services->streams->usage().made;
  const auto model =
      LoadedModel::load(testing::executable_of(kTwoArms, "sim"), sim.registry, options).value();
  EXPECT_EQ(services->streams->usage().made, of_transfers + 1);
  const Context context = model.create_context().value();
  EXPECT_EQ(services->streams->usage().made, of_transfers + 1);
}

}  // namespace
}  // namespace sluice::exec
