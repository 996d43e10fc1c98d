#include "device/device_services.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "device/testing/device_testing.h"

namespace sluice::device {
namespace {

class DeviceServicesTest : public ::testing::Test {
 protected:
  DeviceServicesTest() : device_(testing::make_device()), table_(system_clock()) {
    services_ = table_.of(device_.sim.backend, 0).value();
  }
  PooledMemory allocate(const char* client) {
    return services_->memory.allocate(1000, client, MemoryCategory::kArenas).value();
  }

  testing::TestDevice device_;
  DeviceServiceTable table_;
  std::shared_ptr<DeviceServices> services_;
};

TEST_F(DeviceServicesTest, TellsWhatAModelLeftThatHasEnded) {
  auto pool = StreamPool::create(device_.group, {.made_ahead = 1}, services_->streams).value();
  auto model = table_.enter("resnet");
  std::optional<PooledMemory> memory = allocate("resnet");
  std::optional<PooledStream> stream = pool.take("resnet").value();
  EXPECT_TRUE(table_.left_on(*services_).empty()) << "the model is here";
  model = nullptr;
  const std::vector<LeftBehind> left = table_.left_on(*services_);
  ASSERT_EQ(left.size(), 1U) << "the lanes of transfers are nobody's";
  EXPECT_EQ(left[0].client, "resnet");
  EXPECT_EQ(left[0].memory_bytes, 1000);
  EXPECT_EQ(left[0].num_streams, 1);
  memory.reset();
  stream.reset();
  EXPECT_TRUE(table_.left_on(*services_).empty());
}

TEST_F(DeviceServicesTest, NameIsHereUntilTheLastOfItsModelsEnds) {
  auto first = table_.enter("resnet");
  auto second = table_.enter("resnet");
  const PooledMemory memory = allocate("resnet");
  first = nullptr;
  EXPECT_TRUE(table_.left_on(*services_).empty());
  second = nullptr;
  EXPECT_EQ(table_.left_on(*services_).size(), 1U);
}

TEST_F(DeviceServicesTest, ConstantsAreLeftWhereNoModelIs) {
  auto model = table_.enter("resnet");
  const PooledMemory memory = allocate(kConstantsClient);
  EXPECT_TRUE(table_.left_on(*services_).empty());
  model = nullptr;
  EXPECT_EQ(table_.left_on(*services_).size(), 1U);
}

/// Three devices; a link joins the first two. Bytes pass it four times as fast as those of the
/// host.
class BroughtBytesTest : public ::testing::Test {
 protected:
  BroughtBytes bring(int device) {
    auto brought = table_.bring(bytes_, sim_.backend, device);
    EXPECT_TRUE(brought.is_ok()) << brought.status().to_string();
    return std::move(brought).value();
  }

  sluice::testing::Sim sim_ = sluice::testing::make_sim(R"({
      "devices": [{"count": 3, "copy": {"to_device": {"bytes_per_s": 1e9, "latency_ns": 0},
                                        "to_host": {"bytes_per_s": 1e9, "latency_ns": 0}}}],
      "links": [{"a": 0, "b": 1, "bytes_per_s": 4e9, "latency_ns": 0}]})")
                                  .value();
  DeviceServiceTable table_{*sim_.time};
  Bytes bytes_ = Bytes::own(std::vector<std::byte>(4000, std::byte{7}));
};

TEST_F(BroughtBytesTest, ComeOverTheLinkOfADeviceThatHasThem) {
  const BroughtBytes first = bring(0);
  EXPECT_EQ(first.from, std::nullopt);
  EXPECT_EQ(sim_.time->now_ns(), 4000);
  const BroughtBytes second = bring(1);
  EXPECT_EQ(second.from, 0);
  EXPECT_EQ(sim_.time->now_ns(), 5000);
  EXPECT_EQ(std::memcmp(second.copy.get(), bytes_.data(), bytes_.size()), 0);
  const BroughtBytes third = bring(2);
  EXPECT_EQ(third.from, std::nullopt) << "no link leads there";
  EXPECT_EQ(sim_.time->now_ns(), 9000);
  const BroughtBytes again = bring(1);
  EXPECT_EQ(again.from, 1);
  EXPECT_EQ(again.copy.get(), second.copy.get());
  EXPECT_EQ(sim_.time->now_ns(), 9000);
}

TEST_F(BroughtBytesTest, AreFoundByTheirPlaceInTheHostUntilTheyGo) {
  std::optional<BroughtBytes> brought = bring(0);
  const auto services = table_.find("sim", 0);
  EXPECT_EQ(services->constants.find(bytes_.data(), 4000), brought->copy);
  EXPECT_EQ(services->constants.find(bytes_.data(), 3999), nullptr);
  EXPECT_TRUE(table_.left_on(*services).empty());
  brought.reset();
  EXPECT_EQ(services->constants.find(bytes_.data(), 4000), nullptr);
  EXPECT_EQ(sim_.time->memory_used_bytes(0), 0);
  EXPECT_EQ(bring(1).from, std::nullopt) << "the first device has them no longer";
}

TEST(BroughtBytesOfTheHost, AreNotCopiedForItsProcessors) {
  const auto sim = sluice::testing::make_sim(R"({"devices": [{"own_memory": false}]})").value();
  DeviceServiceTable table(*sim.time);
  const Bytes bytes = Bytes::own(std::vector<std::byte>(64));
  EXPECT_EQ(table.bring(bytes, sim.backend, 0).status().code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace sluice::device
