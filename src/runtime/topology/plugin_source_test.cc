#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/topology/sources.h"
#include "support/paths.h"

namespace sluice::runtime {
namespace {

using ::testing::HasSubstr;

backend::BackendRegistry reference_and(const std::filesystem::path& other) {
  const auto path = sluice::testing::build_path("lib/sluice/libsluice_backend_reference.so");
  return backend::BackendRegistry::discover({.paths = {path, other}});
}

TEST(PluginSource, ProcessorsAreToldOnceAndOnlyIfNobodyElseHas) {
  const auto plugins = reference_and(sluice::testing::build_path("lib/sluice"));
  const Findings found = find_plugin_devices(plugins.all(), false, false);
  ASSERT_EQ(found.devices.size(), 1U);
  EXPECT_EQ(found.devices[0].kind, "cpu");
  EXPECT_EQ(found.devices[0].backend, "");
  EXPECT_GT(found.devices[0].num_cores, 0);
  EXPECT_TRUE(find_plugin_devices(plugins.all(), true, false).devices.empty());
}

TEST(PluginSource, APluginThatDoesNotLoadIsAReason) {
  const auto plugins = reference_and("libsluice_backend_gone.so");
  EXPECT_THAT(find_plugin_devices(plugins.all(), true, false).report.reason,
              HasSubstr("libsluice_backend_gone.so"));
}

}  // namespace
}  // namespace sluice::runtime
