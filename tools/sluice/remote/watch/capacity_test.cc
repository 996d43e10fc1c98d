#include "sluice/remote/watch/capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::tool {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

/// Two devices of four cores, of each of which groups have one.
activity::Snapshot example_capacity() {
  activity::Snapshot now;
  for (const int id : {0, 1}) {
    terms::Device device;
    device.id = terms::DeviceId(id);
    device.num_cores = 4;
    now.server.devices.push_back(device);
    terms::Usage usage;
    usage.id = static_cast<std::uint64_t>(id);
    usage.num_reserved_cores = 1;
    now.statistics.devices.push_back(usage);
  }
  return now;
}

TEST(Capacity, CoresOfGroupsAreNotFree) {
  const json all = json::parse(capacity_json(example_capacity(), true));
  EXPECT_EQ(all["num_cores"], 8);
  EXPECT_EQ(all["num_free_cores"], 6);
  EXPECT_EQ(all["devices"][1]["num_free_cores"], 3);
}

TEST(Capacity, CoresOfAWithdrawnDeviceAreNotFree) {
  activity::Snapshot now = example_capacity();
  now.statistics.devices[1].is_withdrawn = true;
  const json all = json::parse(capacity_json(now, true));
  EXPECT_EQ(all["num_cores"], 8);
  EXPECT_EQ(all["num_free_cores"], 3);
  EXPECT_EQ(all["devices"][1]["num_free_cores"], 0);
  EXPECT_THAT(capacity_text(now, true), HasSubstr("0 of 4"));
}

}  // namespace
}  // namespace sluice::tool
