// The part of a machine that this daemon serves.
#pragma once

#include <memory>

#include "backend/registry.h"
#include "daemon/settings.h"
#include "runtime/inference/driver.h"
#include "service/log.h"
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
/// A map of this boot that does not fit is left out, and `log` says why.
Result<Machine> find_machine(const Settings& settings, service::Log& log);

/// An event for each device: logical id, kind, bus address, cores and links.
void log_devices(const topology::DeviceMap& map, service::Log& log);

}  // namespace sluice::daemon
