// An engine that moves only when somebody waits: what a test sees in between is certain.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "runtime/engine.h"
#include "runtime/testing/engine_testing.h"
#include "runtime/testing/manual_driver.h"

namespace sluice::runtime::testing {

class ManualEngineTest : public ::testing::Test {
 protected:
  ManualEngineTest() { make(pretended_cpu_map(4)); }

  void make(topology::DeviceMap map) {
    engine_ = std::make_unique<TestEngine>(registry(), drivers_, EngineOptions{std::move(map)});
  }

  terms::ModelHandle load(const LoadRequest& request) {
    const auto handle = engine_->load(request);
    EXPECT_TRUE(handle.is_ok()) << handle.status().to_string();
    return handle.is_ok() ? *handle : terms::ModelHandle{};
  }

  terms::CoreGroupId group_of(std::int32_t cores) {
    const auto group = engine_->create_group({.num_cores = cores});
    EXPECT_TRUE(group.is_ok()) << group.status().to_string();
    return group.is_ok() ? *group : terms::CoreGroupId();
  }

  terms::ModelHandle load_on(terms::CoreGroupId group, const std::string& name) {
    LoadRequest request = load_of(add_relu(), name);
    request.group = group;
    return load(request);
  }

  Cookie post(terms::ModelHandle model, float value) {
    Request request = request_of(value);
    const auto cookie = engine_->post(model, request);
    EXPECT_TRUE(cookie.is_ok()) << cookie.status().to_string();
    return cookie.is_ok() ? *cookie : Cookie{};
  }

  ManualDrivers drivers_{system_clock()};
  std::unique_ptr<TestEngine> engine_;
};

}  // namespace sluice::runtime::testing
