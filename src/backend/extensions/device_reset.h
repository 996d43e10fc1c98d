// Brings lost devices back.
#pragma once

#include "backend/backend.h"

namespace sluice::backend {

/// Work in flight on the device ends with kUnavailable; groups, streams and memory stay valid.
/// Safe from any thread.
/// Fails: kUnimplemented for a plug-in without the extension "sluice.device_reset/1"; what the
///        plug-in answers.
Status reset_device(const Backend& backend, int device);

}  // namespace sluice::backend
