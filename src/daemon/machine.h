// The part of a machine that this daemon serves.
#pragma once

#include <memory>

#include "backend/registry.h"
#include "daemon/settings.h"
#include "runtime/inference/driver.h"
#include "topology/map/device_map.h"

namespace sluice::daemon {

struct Machine {
  backend::BackendRegistry backends;
  topology::DeviceMap devices;
  std::unique_ptr<runtime::DriverSource> drivers;
};

/// Finds plug-ins and devices, and picks those that the settings name.
/// Fails: kNotFound naming an unknown device; kFailedPrecondition for devices without a connection
///        to each other; kInvalidArgument; what the plug-ins and the map report.
Result<Machine> find_machine(const Settings& settings);

}  // namespace sluice::daemon
