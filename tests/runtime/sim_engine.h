// An engine on a simulated machine: time is virtual and moves only while somebody waits.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine.h"
#include "runtime/testing/engine_testing.h"
#include "runtime/testing/manual_driver.h"
#include "support/sim.h"

namespace sluice::runtime::testing {

/// Every device of the simulated machine, in its order, without links.
inline topology::DeviceMap map_of(const backend::Backend& backend) {
  topology::DeviceMap map;
  for (const backend::DeviceInfo& info : backend.devices()) {
    terms::Device device;
    device.id = terms::DeviceId(static_cast<std::int32_t>(map.devices.size()));
    device.kind = info.kind;
    device.backend = backend.name();
    device.backend_index = device.id.value();
    device.num_cores = info.num_cores;
    map.devices.push_back(std::move(device));
  }
  return map;
}

class SimEngine {
 public:
  /// `description`: the JSON text of docs/sim.md.
  explicit SimEngine(const std::string& description)
      : sim_(sluice::testing::make_sim(description).value()), drivers_(*sim_.time) {
    EngineOptions options;
    options.devices = map_of(*sim_.backend);
    options.hang_limit_ns = 1'000'000;
    engine_ = std::make_unique<TestEngine>(sim_.registry, drivers_, std::move(options));
  }

  TestEngine& engine() { return *engine_; }
  backend::VirtualTime& time() { return *sim_.time; }
  ManualDrivers& drivers() { return drivers_; }
  const sluice::testing::Sim& sim() const { return sim_; }

  terms::ModelHandle load(const LoadRequest& request) {
    const auto handle = engine_->load(request);
    EXPECT_TRUE(handle.is_ok()) << handle.status().to_string();
    return handle.is_ok() ? *handle : terms::ModelHandle{};
  }

  /// Virtual time of `count` requests to each of `models`, with as many in flight as each depth
  /// allows.
  std::int64_t run(const std::vector<terms::ModelHandle>& models, int count) {
    std::vector<std::unique_ptr<Flow>> flows;
    const std::int64_t start_ns = time().now_ns();
    for (const terms::ModelHandle model : models) {
      flows.push_back(std::make_unique<Flow>(engine_->sink(model).value(), count));
      flows.back()->fill();
    }
    const auto all_done = [&] {
      return std::ranges::all_of(flows, [](const auto& flow) { return flow->is_done(); });
    };
    EXPECT_TRUE(drivers_.wait(all_done, kNoDeadline));
    return time().now_ns() - start_ns;
  }

 private:
  /// Requests to one model: the next one goes when an answer comes.
  class Flow {
   public:
    Flow(std::shared_ptr<RequestSink> sink, int count) : sink_(std::move(sink)), count_(count) {}

    void fill() {
      for (int i = 0; i < sink_->depth() && submitted_ < count_; ++i) submit();
    }
    bool is_done() const { return answered_ == count_; }

   private:
    void submit() {
      Request request = request_of(1);
      request.on_done = [this](const Reply& reply) {
        EXPECT_EQ(reply.code, RuntimeCode::kOk) << reply.errors.to_status().to_string();
        ++answered_;
        if (submitted_ < count_) submit();
      };
      ++submitted_;
      const auto id = sink_->submit(request);
      EXPECT_TRUE(id.is_ok()) << id.status().to_string();
    }

    std::shared_ptr<RequestSink> sink_;
    int count_;
    int submitted_ = 0;
    int answered_ = 0;
  };

  sluice::testing::Sim sim_;
  ManualDrivers drivers_;
  std::unique_ptr<TestEngine> engine_;
};

}  // namespace sluice::runtime::testing
