#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.h"
#include "topology/discovery/sources.h"

namespace sluice::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NvmlSource, DescribesEveryGpu) {
  const Findings found = find_nvml(sluice::testing::build_path("test/fake_nvml.so"));
  ASSERT_EQ(found.devices.size(), 4U) << found.report.reason;
  EXPECT_EQ(found.report.num_devices, 4);
  EXPECT_EQ(found.report.reason, "");
  const terms::Device& gpu = found.devices[1];
  EXPECT_EQ(gpu.kind, "gpu");
  EXPECT_EQ(gpu.name, "Fake GPU 1");
  EXPECT_EQ(gpu.bus_address, "0000:1d:00.0");
  EXPECT_EQ(gpu.memory_bytes, std::int64_t{80} << 30);
  EXPECT_EQ(gpu.num_cores, 0);
  EXPECT_THAT(gpu.features, ElementsAre("sm_90"));
}

TEST(NvmlSource, UnreportedMemoryIsUnknown) {
  const Findings found = find_nvml(sluice::testing::build_path("test/fake_nvml.so"));
  ASSERT_EQ(found.devices.size(), 4U);
  EXPECT_EQ(found.devices[3].memory_bytes, 0);
}

TEST(NvmlSource, LinksJoinGpusDirectlyAndThroughSwitches) {
  const Findings found = find_nvml(sluice::testing::build_path("test/fake_nvml.so"));
  std::vector<std::string> links;
  for (const Link& link : found.links) {
    links.push_back(fmt::format("{}-{} {}", link.a.value(), link.b.value(), link.kind));
  }
  // Two lanes between 0 and 1 are one link.
  EXPECT_THAT(links, ElementsAre("0-1 nvlink", "2-3 nvswitch"));
}

TEST(NvmlSource, AbsentLibraryIsAReason) {
  const Findings found = find_nvml("libno-such-library.so.1");
  EXPECT_TRUE(found.devices.empty());
  EXPECT_EQ(found.report.source, "nvml");
  EXPECT_THAT(found.report.reason, HasSubstr("libno-such-library.so.1"));
}

TEST(NvmlSource, LibraryThatDoesNotStartIsAReason) {
  const Findings found = find_nvml(sluice::testing::build_path("test/fake_nvml_fails.so"));
  EXPECT_TRUE(found.devices.empty());
  EXPECT_THAT(found.report.reason, HasSubstr("Driver Not Loaded (code 9)"));
}

TEST(NvmlSource, LibraryWithoutNvmlIsReportedAsReason) {
  const Findings found =
      find_nvml(sluice::testing::build_path("lib/sluice/libsluice_backend_reference.so"));
  EXPECT_TRUE(found.devices.empty());
  EXPECT_THAT(found.report.reason, HasSubstr("nvml"));
}

}  // namespace
}  // namespace sluice::topology
