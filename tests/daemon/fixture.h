// What tests of a running sluiced share: a daemon, small packages, one inference.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "daemon/running_daemon.h"
#include "runtime/runtime_code.h"

namespace sluice::testing {

/// relu(x + [1, -2, 3, -4]) over f32[4], in segments that want `cores`, for simulated devices; the
/// path of the package.
std::string write_model(const TempDir& folder, const std::string& name,
                        std::vector<std::int32_t> cores);

/// Of such a model for x = [value, value, value, value].
Result<std::vector<float>> infer(rpc::Client& client, std::uint64_t model, float value);

inline runtime::RuntimeCode code_of(const Status& status) {
  return runtime::runtime_code_of(status);
}
template <typename T>
runtime::RuntimeCode code_of(const Result<T>& result) {
  return code_of(result.status());
}

/// A daemon of four chained devices of four cores, and packages of models that want so many cores.
class DaemonTest : public ::testing::Test {
 protected:
  DaemonTest() {
    auto daemon = RunningDaemon::start(folder_);
    EXPECT_TRUE(daemon.is_ok()) << daemon.status().to_string();
    if (daemon.is_ok()) daemon_ = std::move(*daemon);
    one_core_ = write_model(folder_, "one", {1});
    three_cores_ = write_model(folder_, "three", {2, 1});
    five_cores_ = write_model(folder_, "five", {4, 1});
  }
  void SetUp() override { ASSERT_NE(daemon_, nullptr); }

  TempDir folder_;
  std::unique_ptr<RunningDaemon> daemon_;
  std::string one_core_;
  std::string three_cores_;
  std::string five_cores_;
};

}  // namespace sluice::testing
