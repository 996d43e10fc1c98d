// A sluiced that computes on this machine's processors.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/add_relu.h"
#include "daemon/running_daemon.h"

namespace sluice::testing {

inline constexpr std::int64_t kMiB = 1 << 20;

/// The input x of a request; `x` stays the caller's.
std::vector<terms::NamedTensor> input_x(std::vector<float>& x);

class OnProcessors : public ::testing::Test {
 protected:
  /// A daemon on one core: the `number`-th processor that this process may use, or the first if
  /// there are fewer. Null after a failure, which is the test's.
  std::unique_ptr<RunningDaemon> start(const std::string& name, std::size_t number = 0,
                                       std::int64_t memory_bytes = 64 * kMiB,
                                       const std::vector<std::string>& more_flags = {});
  /// The path of a package of this graph for the plug-in "cpu".
  std::string write(const std::string& name, std::string_view graph) const;

  TempDir folder_;
  const std::string small_ = write_model(folder_, "small", {1}, "cpu");
};

}  // namespace sluice::testing
