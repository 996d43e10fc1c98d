// The devices, plug-ins and drivers of a local runtime.
#pragma once

#include <memory>

#include "api/runtime/local_runtime.h"
#include "backend/registry.h"
#include "runtime/inference/driver.h"
#include "topology/map/device_map.h"

namespace sluice::api {

struct Machine {
  backend::BackendRegistry plugins;
  topology::DeviceMap devices;
  std::unique_ptr<runtime::DriverSource> drivers;
};

/// Fails: as create_local_runtime.
Result<Machine> find_machine(const LocalOptions& options);

}  // namespace sluice::api
