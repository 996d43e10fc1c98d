// A simulated device and the pieces that tests of this room drive it with.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "backend/command_list.h"
#include "backend/memory.h"
#include "device/transfer/transfer_service.h"
#include "support/sim.h"

namespace sluice::device::testing {

/// One device: copies at 1 byte per ns without latency, in each direction.
struct TestDevice {
  sluice::testing::Sim sim;
  std::shared_ptr<const backend::Group> group;

  std::int64_t now_ns() const { return sim.time->now_ns(); }
  /// Requires: the device has that much.
  backend::DeviceMemory allocate(std::int64_t size_bytes) const {
    auto memory = backend::DeviceMemory::allocate(sim.backend, 0, size_bytes);
    EXPECT_TRUE(memory.is_ok()) << memory.status().to_string();
    return std::move(memory).value();
  }
};

inline TestDevice make_device() {
  auto sim = sluice::testing::make_sim(
      R"({"devices": [{"cores": 1, "copy": {
           "to_device": {"bytes_per_s": 1e9, "latency_ns": 0},
           "to_host": {"bytes_per_s": 1e9, "latency_ns": 0},
           "within": {"bytes_per_s": 1e9, "latency_ns": 0}}}]})");
  EXPECT_TRUE(sim.is_ok()) << sim.status().to_string();
  TestDevice device{std::move(sim).value(), nullptr};
  const std::int32_t core = 0;
  auto group = backend::Group::create(device.sim.backend, 0, {&core, 1});
  EXPECT_TRUE(group.is_ok()) << group.status().to_string();
  device.group = std::move(group).value();
  return device;
}

/// Copies `size_bytes` from binding 0 to binding 1: takes as many nanoseconds to or from the
/// device.
inline backend::CommandList copy_list(const TestDevice& device, std::int64_t size_bytes) {
  auto list = backend::CommandList::create(device.group);
  EXPECT_TRUE(list.is_ok());
  EXPECT_TRUE(
      list->add_copy(backend::bound_argument(0, 0), backend::bound_argument(1, 0), size_bytes)
          .is_ok());
  EXPECT_TRUE(list->finish().is_ok());
  return std::move(list).value();
}

/// Copies and waits, driving `service`; no other thread may drive it meanwhile.
inline Status transfer_and_wait(TransferService& service, Transfer transfer) {
  std::optional<Status> status;
  transfer.on_done = [&](const TransferReport& report) { status = report.status; };
  (void)SLUICE_TRY(service.submit(std::move(transfer)));
  while (!status) service.wait(-1);
  return *status;
}

}  // namespace sluice::device::testing
