#pragma once

#include <memory>

#include "device/device_services.h"
#include "exec/loaded_model.h"

namespace sluice::runtime {

/// Brings constants to devices with memory of their own, once for all models that share them;
/// kernels of others read them where they lie.
exec::BringConstant bring_to(std::shared_ptr<device::DeviceServiceTable> devices);

}  // namespace sluice::runtime
