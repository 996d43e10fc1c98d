// Constants, inputs and outputs in the memory of simulated devices.
#include <gmock/gmock.h>

#include "device/device_services.h"
#include "exec/testing/exec_testing.h"
#include "runtime/statistics/group_statistics.h"
#include "session/session.h"
#include "sim_engine.h"

namespace sluice::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;  // NOLINT(google-build-using-namespace)

constexpr const char* kTwoDevices = R"({"devices": [{"count": 2, "cores": 4}]})";

std::int64_t count_of(const std::string& text, const std::string& part) {
  std::int64_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::int64_t bytes_of(const DeviceReport& report, std::string_view category) {
  const auto found = std::ranges::find(report.memory, category, &terms::MemoryItem::category);
  return found == report.memory.end() ? 0 : found->bytes;
}

class DeviceConstants : public ::testing::Test {
 protected:
  terms::ModelHandle load_on(std::int32_t device) {
    LoadRequest request = load_of(executable_);
    request.where.devices = {terms::DeviceId(device)};
    return machine_.load(request);
  }
  std::int64_t constants_on(std::size_t device) {
    return bytes_of(machine_.engine().report_devices()[device], "constants");
  }

  SimEngine machine_{kTwoDevices};
  std::shared_ptr<const package::Executable> executable_ = add_relu("sim");
};

TEST_F(DeviceConstants, AreUploadedOnceForAllModelsOfAPackageOnADevice) {
  const terms::ModelHandle first = load_on(0);
  EXPECT_EQ(constants_on(0), 16);
  EXPECT_EQ(count_of(machine_.time().log(), "copy_start"), 1);
  const terms::ModelHandle second = load_on(0);
  EXPECT_EQ(constants_on(0), 16);
  EXPECT_EQ(count_of(machine_.time().log(), "copy_start"), 1) << "they are there";
  load_on(1);
  EXPECT_EQ(constants_on(1), 16);
  EXPECT_EQ(count_of(machine_.time().log(), "copy_start"), 2) << "another device has its own";
  for (const terms::ModelHandle model : {first, second}) {
    const Reply reply = machine_.engine().infer(model, request_of(1));
    ASSERT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
    EXPECT_THAT(floats(reply.outputs.at(0)), ElementsAre(2, 0, 4, 0));
  }
}

TEST_F(DeviceConstants, LeaveTheDeviceWithTheLastModelThatReadsThem) {
  const terms::ModelHandle first = load_on(0);
  const terms::ModelHandle second = load_on(0);
  ASSERT_TRUE(machine_.engine().unload(first).is_ok());
  EXPECT_EQ(constants_on(0), 16);
  EXPECT_EQ(machine_.engine().infer(second, request_of(1)).code, RuntimeCode::kOk);
  ASSERT_TRUE(machine_.engine().unload(second).is_ok());
  EXPECT_EQ(constants_on(0), 0);
  EXPECT_EQ(machine_.time().memory_used_bytes(0), 0);
}

TEST_F(DeviceConstants, OversizedConstantsFailTheLoadAndLeaveNothing) {
  ASSERT_TRUE(machine_.time().inject_fault(R"({"kind": "memory_exhausted", "count": 0})").is_ok());
  const Status status = machine_.engine().load(load_of(executable_)).status();
  EXPECT_EQ(terms::runtime_code_of(status), RuntimeCode::kOutOfResources);
  EXPECT_THAT(status.message(), HasSubstr("constant \"c\""));
  EXPECT_EQ(machine_.engine().num_free_cores(), 8);
  ASSERT_TRUE(machine_.time().clear_all_faults().is_ok());
  machine_.load(load_of(executable_));
}

TEST_F(DeviceConstants, CancelledLoadLeavesNoConstants) {
  std::stop_source stop;
  LoadRequest request = load_of(executable_);
  request.on_progress = [&](LoadPhase phase) {
    if (phase == LoadPhase::kAllocating) stop.request_stop();
  };
  const auto handle = machine_.engine().load(request, stop.get_token());
  EXPECT_EQ(terms::runtime_code_of(handle.status()), RuntimeCode::kCancelled);
  EXPECT_EQ(machine_.time().memory_used_bytes(0), 0);
  EXPECT_EQ(machine_.engine().num_free_cores(), 8);
}

TEST(BroughtInput, IsReadOnItsDeviceAndNotCopiedWithTheRequest) {
  SimEngine machine(R"({"devices": [{"count": 2, "cores": 4}], "links": [{"a": 0, "b": 1}]})");
  LoadRequest request = load_of(add_relu("sim"));
  request.where.devices = {terms::DeviceId(1)};
  const terms::ModelHandle model = machine.load(request);
  const std::vector<float> ones(4, 1.0F);
  const Bytes x = MutableBytes::copy_of(std::as_bytes(std::span(ones))).freeze();
  const auto infer = [&] {
    Request run = request_of(0);
    run.inputs[0].data = const_cast<std::byte*>(x.data());  // NOLINT: inputs are only read
    const Reply reply = machine.engine().infer(model, std::move(run));
    ASSERT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
    EXPECT_THAT(floats(reply.outputs.at(0)), ElementsAre(2, 0, 4, 0));
  };
  const auto first = machine.engine().bring(x, terms::DeviceId(0));
  ASSERT_TRUE(first.is_ok()) << first.status().to_string();
  EXPECT_EQ(first->from, std::nullopt);
  auto second = machine.engine().bring(x, terms::DeviceId(1));
  ASSERT_TRUE(second.is_ok()) << second.status().to_string();
  EXPECT_EQ(second->from, terms::DeviceId(0));
  const std::int64_t before = count_of(machine.time().log(), "to_device");
  infer();
  infer();
  EXPECT_EQ(count_of(machine.time().log(), "to_device"), before);
  second->copy = nullptr;
  infer();
  EXPECT_EQ(count_of(machine.time().log(), "to_device"), before + 1) << "from the host again";
}

TEST(BroughtInput, NeedsADeviceWithMemoryOfItsOwn) {
  SimEngine machine(R"({"devices": [{"own_memory": false}]})");
  const Bytes x = Bytes::own(std::vector<std::byte>(16));
  for (const int device : {0, 7}) {
    const Status status = machine.engine().bring(x, terms::DeviceId(device)).status();
    EXPECT_EQ(terms::runtime_code_of(status), RuntimeCode::kInvalid) << status.to_string();
  }
}

class LeftOutput : public ::testing::Test {
 protected:
  Reply leave() {
    Request request = request_of(1);
    request.left_outputs = {true};
    Reply reply = machine_.engine().infer(model_, std::move(request));
    EXPECT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
    return reply;
  }
  std::int64_t num_copies(const char* direction) {
    return count_of(machine_.time().log(), direction);
  }
  const void* left_on(terms::ModelHandle model) {
    return machine_.engine().sink(model).value()->left_on();
  }

  SimEngine machine_{R"({"devices": [{"cores": 4}]})"};
  terms::ModelHandle model_ = machine_.load(load_of(add_relu("sim")));
};

TEST_F(LeftOutput, IsReadByAddressAndComesToTheHostWhenAsked) {
  const std::int64_t used_bytes = machine_.time().memory_used_bytes(0);
  Reply made = leave();
  const terms::OutputTensor& y = made.outputs.at(0);
  ASSERT_NE(y.left, nullptr);
  EXPECT_EQ(y.left->device, left_on(model_));
  EXPECT_EQ(num_copies("to_host"), 0);
  EXPECT_GT(machine_.time().memory_used_bytes(0), used_bytes);

  const std::int64_t num_before = num_copies("to_device");
  Request next;
  next.inputs = {y.view};
  next.left_inputs = {y.left};
  next.memory_owner = y.owner;
  const Reply read = machine_.engine().infer(model_, std::move(next));
  ASSERT_EQ(read.code, RuntimeCode::kOk) << read.errors.to_status().to_string();
  EXPECT_THAT(floats(read.outputs.at(0)), ElementsAre(3, 0, 7, 0));
  EXPECT_EQ(num_copies("to_device"), num_before) << "the input was there";
  EXPECT_EQ(num_copies("to_host"), 1) << "the output of the second alone";

  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(y.left->fetch().is_ok());
    EXPECT_THAT(floats(y), ElementsAre(2, 0, 4, 0));
    EXPECT_EQ(num_copies("to_host"), 2);
  }
  made.outputs.clear();
  EXPECT_EQ(machine_.time().memory_used_bytes(0), used_bytes);
}

TEST_F(LeftOutput, OutlivesItsModel) {
  Reply made = leave();
  ASSERT_TRUE(machine_.engine().unload(model_).is_ok());
  ASSERT_NE(made.outputs.at(0).left, nullptr);
  ASSERT_TRUE(made.outputs.at(0).left->fetch().is_ok());
  EXPECT_THAT(floats(made.outputs.at(0)), ElementsAre(2, 0, 4, 0));
  made.outputs.clear();
  EXPECT_EQ(machine_.time().memory_used_bytes(0), 0);
}

TEST_F(LeftOutput, LostWithItsDeviceIsADeviceError) {
  const Reply made = leave();
  ASSERT_TRUE(machine_.time().inject_fault(R"({"kind": "lost_device", "device": 0})").is_ok());
  ASSERT_NE(made.outputs.at(0).left, nullptr);
  const Status status = made.outputs.at(0).left->fetch();
  EXPECT_EQ(terms::runtime_code_of(status), RuntimeCode::kDeviceError) << status.to_string();
  Request next;
  next.left_inputs = {made.outputs.at(0).left};
  EXPECT_EQ(terms::runtime_code_of(next.fetch_inputs()), RuntimeCode::kFailed)
      << "the model of the next request has lost nothing, and the request says nothing wrong";
}

TEST_F(LeftOutput, GoesToTheHostWhereTheDeviceIsFull) {
  ASSERT_TRUE(machine_.time().inject_fault(R"({"kind": "memory_exhausted", "count": 0})").is_ok());
  const Reply made = leave();
  EXPECT_EQ(made.outputs.at(0).left, nullptr);
  EXPECT_THAT(floats(made.outputs.at(0)), ElementsAre(2, 0, 4, 0));
}

TEST_F(LeftOutput, IsNotOfModelsWhoseOutputsAreSearchedForNan) {
  LoadRequest request = load_of(add_relu("sim"), "searched");
  request.nan_policy = terms::NanPolicy::kFlag;
  EXPECT_EQ(left_on(machine_.load(request)), nullptr);
  EXPECT_NE(left_on(model_), nullptr);
}

TEST(DeviceSession, MovesItsTensorsThroughTheDevicesTransfers) {
  auto sim = sluice::testing::make_sim("{}").value();
  const std::vector<float> hundred(4, 100.0F);
  session::SessionOptions options;
  options.devices = std::make_shared<device::DeviceServiceTable>(*sim.time);
  options.stored.emplace(
      "c", ir::Constant{ir::Type::tensor(ir::ElementType::kF32, ir::Shape{4}),
                        MutableBytes::copy_of(std::as_bytes(std::span(hundred))).freeze()});
  auto session = session::Session::create(*add_relu("sim"), *sim.time, options).value();
  exec::testing::Aligned<float> x({1, 2, 3, 4});
  exec::testing::Aligned<float> y({0, 0, 0, 0});
  ASSERT_TRUE(session->bind_source("x", exec::testing::f32_view(x, {4})).is_ok());
  ASSERT_TRUE(session->bind_sink("y", terms::OutputMemory{y.data(), 16}).is_ok());
  const Status loaded = session->load(sim.registry);
  ASSERT_TRUE(loaded.is_ok()) << loaded.to_string();
  EXPECT_EQ(count_of(sim.time->log(), "to_device"), 1) << "the stored constant, before any run";
  const Status ran = session->run_main();
  ASSERT_TRUE(ran.is_ok()) << ran.to_string();
  EXPECT_EQ(y.data()[3], 104);
  EXPECT_EQ(count_of(sim.time->log(), "to_device"), 2);
  EXPECT_EQ(count_of(sim.time->log(), "to_host"), 1);
  const auto services = options.devices->find("sim", 0);
  EXPECT_EQ(services->memory.usage().bytes_of(device::MemoryCategory::kTensors), 32);
  exec::testing::Aligned<float> saved({0, 0, 0, 0});
  ASSERT_TRUE(session->bind_sink("c", terms::OutputMemory{saved.data(), 16}).is_ok());
  ASSERT_TRUE(session->run_save().is_ok());
  EXPECT_EQ(count_of(sim.time->log(), "to_host"), 2) << "save reads the device's copy";
  EXPECT_EQ(saved.data()[3], 100);
  session->stop();
  EXPECT_EQ(sim.time->memory_used_bytes(0), 0);
}

}  // namespace
}  // namespace sluice::runtime
