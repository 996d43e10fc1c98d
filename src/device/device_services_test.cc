#include "device/device_services.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace sluice::device
