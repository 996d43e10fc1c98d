// Waiting for the work of a stream.
#pragma once

#include <cstdint>

#include "plugin/device_code.h"

namespace sluice::cuda {

/// Waits until the stream is idle. It asks again and again at first: a thread that sleeps wakes
/// some 50 us after the work has ended, which is much of a short run. From a millisecond on the
/// thread sleeps, so that long work leaves its processor to others. The driver's own wait does one
/// or the other, by a flag of the context, which the process shares with other users of CUDA.
///
/// `event` belongs to the stream's device and is made when first needed; the caller destroys it.
/// A negative timeout waits without limit.
/// Requires: the device's context is current.
/// Returns: kNotReady after the timeout; errors of the stream's work
CuResult wait_for_stream(const Driver& driver, CuStream stream, CuEvent* event,
                         std::int64_t timeout_ns);

}  // namespace sluice::cuda
