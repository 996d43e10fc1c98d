// What the guest knows of its device.
#pragma once

#include "guest/runtime/errors.h"
#include "guest/wire/calls.h"

namespace sluice::guest {

/// Asked for once. Fails: as the proxy says.
Error device_facts(const DeviceFacts** facts);

/// A device attribute by the driver's number; 0 if the device does not have it.
int attribute(const DeviceFacts& facts, int number);

}  // namespace sluice::guest
