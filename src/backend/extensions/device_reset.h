// Brings lost devices back.
#pragma once

#include "backend/backend.h"

namespace sluice::backend {

/// Whether a device of the backend that was lost stays so until the process ends: kernels run
/// elsewhere than on the host, and the plug-in lacks "sluice.device_reset/1".
Result<bool> is_lost_for_good(const Backend& backend);

/// Work in flight on the device ends with kUnavailable; groups, streams and memory stay valid.
/// Safe from any thread.
/// Fails: kUnimplemented for a plug-in without the extension "sluice.device_reset/1"; what the
///        plug-in answers.
Status reset_device(const Backend& backend, int device);

}  // namespace sluice::backend
