#pragma once

#include <memory>

#include "device/device_services.h"
#include "exec/loaded_model.h"

namespace sluice::exec {

/// Copies constants to own-memory devices, once for all models that share them. Kernels of other
/// devices read the mapped package.
BringConstant bring_to(std::shared_ptr<device::DeviceServiceTable> devices);

}  // namespace sluice::exec
