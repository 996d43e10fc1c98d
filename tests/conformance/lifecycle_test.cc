// Loading, devices, memory, groups and streams.
#include <limits>
#include <set>

#include "conformance/fixture.h"

namespace sluice::conformance {
namespace {

class Lifecycle : public Conformance {};
SLUICE_INSTANTIATE_FOR_PLUGINS(Lifecycle);

TEST_P(Lifecycle, HandshakeReportsNameVersionAndDevices) {
  EXPECT_EQ(plugin->name(), backend::plugin_name(GetParam()));
  EXPECT_FALSE(plugin->version().empty());
  ASSERT_FALSE(plugin->devices().empty());
  for (const backend::DeviceInfo& device : plugin->devices()) {
    EXPECT_FALSE(device.kind.empty());
    EXPECT_FALSE(device.name.empty());
    EXPECT_GE(device.num_cores, 1);
  }
}

TEST_P(Lifecycle, LoadsTwiceAtOnceAndAgainAfterUnload) {
  for (int i = 0; i < 3; ++i) {
    const auto one = Backend::load(GetParam());
    const auto other = Backend::load(GetParam());
    SLUICE_ASSERT_OK(one);
    SLUICE_ASSERT_OK(other);
    EXPECT_NE((*one)->handle(), (*other)->handle());
  }
}

TEST_P(Lifecycle, RefusesAnUnknownOption) {
  const auto loaded = Backend::load(GetParam(), {{"no_such_option", "1"}});
  EXPECT_EQ(loaded.status().code(), Code::kInvalidArgument);
  EXPECT_NE(loaded.status().message().find("no_such_option"), std::string::npos)
      << loaded.status().message();
}

TEST_P(Lifecycle, RefusesADeviceThatDoesNotExist) {
  const int beyond = static_cast<int>(plugin->devices().size());
  for (const int device : {-1, beyond, std::numeric_limits<int>::max()}) {
    EXPECT_FALSE(DeviceMemory::allocate(plugin, device, 64).is_ok()) << device;
    EXPECT_FALSE(Group::create(plugin, device, {}).is_ok()) << device;
  }
}

TEST_P(Lifecycle, MemoryIsAlignedDistinctAndWritable) {
  std::vector<DeviceMemory> blocks;
  std::set<const void*> addresses;
  for (const std::int64_t size : {1, 7, 64, 4096, 100003, 1 << 22}) {
    auto block = DeviceMemory::allocate(plugin, 0, size);
    SLUICE_ASSERT_OK(block);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->address()) % SLUICE_ALIGNMENT, 0U) << size;
    EXPECT_TRUE(addresses.insert(block->address()).second) << size;
    if (plugin->devices()[0].has_host_memory) {
      std::memset(block->address(), 0x5a, static_cast<std::size_t>(size));
    }
    blocks.push_back(std::move(block).value());
  }
}

TEST_P(Lifecycle, MemoryOfZeroBytesIsAllowed) {
  SLUICE_EXPECT_OK(DeviceMemory::allocate(plugin, 0, 0));
}

TEST_P(Lifecycle, RefusesImpossibleAllocations) {
  for (const std::int64_t size :
       {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 60}) {
    const auto block = DeviceMemory::allocate(plugin, 0, size);
    ASSERT_FALSE(block.is_ok()) << size;
    EXPECT_FALSE(block.status().message().empty());
  }
}

TEST_P(Lifecycle, GroupsOfOneAndOfAllCores) {
  SLUICE_EXPECT_OK(Group::create(plugin, 0, std::vector<std::int32_t>{0}));
  SLUICE_EXPECT_OK(group_of_all_cores(plugin));
}

TEST_P(Lifecycle, RefusesACoreThatDoesNotExist) {
  for (const std::int32_t core : {-1, plugin->devices()[0].num_cores}) {
    EXPECT_FALSE(Group::create(plugin, 0, std::vector<std::int32_t>{core}).is_ok()) << core;
  }
}

TEST_P(Lifecycle, IdleStreamIsDone) {
  const auto group = group_of_all_cores(plugin);
  SLUICE_ASSERT_OK(group);
  auto stream = Stream::create(*group);
  SLUICE_ASSERT_OK(stream);
  SLUICE_EXPECT_OK(stream->wait(std::chrono::nanoseconds(0)));
  SLUICE_EXPECT_OK(stream->wait());
}

TEST_P(Lifecycle, ManyGroupsAndStreamsCanBeCreatedAndDestroyed) {
  for (int i = 0; i < 20; ++i) {
    const auto group = group_of_all_cores(plugin);
    SLUICE_ASSERT_OK(group);
    const auto one = Stream::create(*group);
    const auto other = Stream::create(*group);
    SLUICE_ASSERT_OK(one);
    SLUICE_ASSERT_OK(other);
  }
}

}  // namespace
}  // namespace sluice::conformance
