// Rules of recording streams as a graph.
#pragma once

#include "emulator/machine/machine.h"

namespace sluice::cuda::emulator {

/// Adds a node behind those that the stream added last.
CuResult capture_operation(Stream& stream, Operation operation);

/// Whether a blocking stream of the default stream's context is captured. The default stream would
/// wait for it, which ends the capture.
bool blocks_a_capture(Machine& machine, const Stream& default_stream);

/// A call that no capture allows: waiting or asking on a captured stream. Ends the capture.
CuResult forbid_in_capture(Capture& capture, std::string what);
/// The same for calls that a capture of mode global or thread-local forbids its threads.
CuResult check_no_capture(Machine& machine, const char* what);

/// Changes what captures forbid the calling thread, and returns what they forbade before: kRelaxed
/// is nothing, kThreadLocal what its own captures forbid. Threads start with kGlobal.
CuCaptureMode exchange_capture_mode(CuCaptureMode mode);

CuResult begin_capture(Machine& machine, const std::shared_ptr<Stream>& stream, CuCaptureMode mode);
/// `graph` receives a handle, or null on failure.
CuResult end_capture(Machine& machine, const std::shared_ptr<Stream>& stream, CuGraph* graph);

/// Makes a stream wait for an event of a capture, which the stream joins.
CuResult wait_captured(const std::shared_ptr<Stream>& stream, const Event& event);

}  // namespace sluice::cuda::emulator
