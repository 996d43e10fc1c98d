// An output that stays in the memory of the device that computed it.
#pragma once

#include <memory>

#include "base/bytes.h"
#include "device/device_services.h"
#include "terms/tensors/tensor.h"

namespace sluice::runtime {

/// What a run wrote to `memory` is the tensor whose place in the host is `host`: inputs at that
/// place are found on the device as long as the result lives, and it alone holds the memory.
/// `name`: entered at the devices for as long, too.
/// Requires: `memory` is of `services->constants.reserve`; the host's memory is new, may be
/// written, and nobody reads it before LeftBytes::fetch.
Result<std::shared_ptr<const terms::LeftBytes>> leave_on(
    std::shared_ptr<device::DeviceServices> services, std::shared_ptr<const void> name,
    const Bytes& host, device::PooledMemory memory);

}  // namespace sluice::runtime
