// What every conformance test needs: the plug-in under test, and a way to run one operation.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "backend/command_list.h"
#include "backend/handshake.h"
#include "backend/memory.h"
#include "backend/registry.h"
#include "conformance/op_maker.h"
#include "support/paths.h"

namespace sluice::conformance {

using backend::Backend;
using backend::CommandList;
using backend::DeviceMemory;
using backend::Group;
using backend::Kernel;
using backend::Op;
using backend::Stream;

/// Plug-ins of this build, or those of the ':'-separated SLUICE_CONFORMANCE_PLUGINS.
std::vector<std::filesystem::path> plugins_under_test();

/// A tensor in host memory.
struct Tensor {
  ir::Type type;
  std::vector<std::byte> bytes;

  static Tensor of(ir::ElementType element, std::vector<std::int64_t> dims,
                   std::span<const double> values);
  std::vector<double> values() const;
};

/// Copies the inputs to the device, runs a kernel of `op` (on all cores of device 0) and copies its
/// outputs back. `inputs`: the operator's without constants and absent ones, then the body's.
Result<std::vector<Tensor>> run_once(const std::shared_ptr<const Backend>& backend, const Op& op,
                                     std::span<const Tensor> inputs);

/// All cores of device 0.
Result<std::shared_ptr<const Group>> group_of_all_cores(
    const std::shared_ptr<const Backend>& backend);

/// A test per plug-in. A plug-in whose device is missing (kUnavailable) is skipped with its reason.
class Conformance : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  void SetUp() override;

  std::shared_ptr<const Backend> plugin;
};

std::string test_name_of(const ::testing::TestParamInfo<std::filesystem::path>& plugin);

#define SLUICE_INSTANTIATE_FOR_PLUGINS(Suite) \
  INSTANTIATE_TEST_SUITE_P(Plugins, Suite, ::testing::ValuesIn(plugins_under_test()), test_name_of)

#define SLUICE_ASSERT_OK(expression)                                         \
  do {                                                                       \
    const auto sluice_status = ::sluice::conformance::status_of(expression); \
    ASSERT_TRUE(sluice_status.is_ok()) << sluice_status.to_string();         \
  } while (false)

#define SLUICE_EXPECT_OK(expression) EXPECT_EQ(status_of(expression).to_string(), "ok")

inline Status status_of(Status status) { return status; }
template <typename T>
Status status_of(const Result<T>& result) {
  return result.status();
}

/// Skips the test where the plug-in does not support `op`.
#define SLUICE_REQUIRE_SUPPORT(op)                                              \
  do {                                                                          \
    const auto sluice_support = plugin->query(op);                              \
    ASSERT_TRUE(sluice_support.is_ok()) << sluice_support.status().to_string(); \
    if (!sluice_support->is_supported) GTEST_SKIP() << sluice_support->reason;  \
  } while (false)

}  // namespace sluice::conformance
