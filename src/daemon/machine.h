// The part of a machine that this daemon serves.
#pragma once

#include <memory>

#include "backend/registry.h"
#include "daemon/settings.h"
#include "runtime/inference/driver.h"
#include "runtime/topology/device_map.h"

namespace sluice::daemon {

struct Machine {
  backend::BackendRegistry backends;
  runtime::DeviceMap devices;
  std::unique_ptr<runtime::DriverSource> drivers;
};

/// Finds plug-ins and devices, and picks those that the settings name.
/// Fails: kNotFound naming a device that is not there; kFailedPrecondition for devices that are not
///        connected; kInvalidArgument; what the plug-ins and the map report.
Result<Machine> find_machine(const Settings& settings);

}  // namespace sluice::daemon
