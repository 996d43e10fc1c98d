// Captures of streams, and graphs made by them.
#include "guest/runtime/connection.h"
#include "guest/runtime/streams.h"

namespace sluice::guest {
namespace {

std::uint64_t graph_number(const void* graph) { return reinterpret_cast<std::uintptr_t>(graph); }

/// A call that gives a handle back.
Error make_handle(CallKind kind, const HandleBody& body, void** handle) {
  if (handle == nullptr) return Error::kInvalidValue;
  Connection::Words words = {};
  const Error error = Connection::get().ask(kind, to_body(body), {}, &words);
  if (error == Error::kSuccess) *handle = reinterpret_cast<void*>(words[0]);  // NOLINT
  return error;
}

Error begin_capture(std::uint64_t stream, int mode) {
  const HandleBody body = {.handle = stream, .flags = static_cast<std::uint32_t>(mode)};
  return Connection::get().ask(CallKind::kCaptureBegin, to_body(body));
}

Error capture_status(std::uint64_t stream, int* status) {
  if (status == nullptr) return Error::kInvalidValue;
  Connection::Words words = {};
  const Error error = Connection::get().ask(CallKind::kCaptureAsk,
                                            to_body(HandleBody{.handle = stream}), {}, &words);
  if (error == Error::kSuccess) *status = static_cast<int>(words[0]);
  return error;
}

Error instantiate(void** exec, const void* graph, unsigned long long flags) {
  if (flags != 0) return Error::kNotSupported;
  return make_handle(CallKind::kGraphInstantiate, {.handle = graph_number(graph)}, exec);
}

Error launch_graph(const void* exec, std::uint64_t stream) {
  const HandleBody body = {.handle = graph_number(exec), .other = stream};
  return Connection::get().post(CallKind::kGraphLaunch, to_body(body));
}

Error destroy(CallKind kind, const void* graph) {
  return Connection::get().ask(kind, to_body(HandleBody{.handle = graph_number(graph)}));
}

}  // namespace
}  // namespace sluice::guest

using sluice::guest::CallKind;
using sluice::guest::note;
using sluice::guest::stream_number;

SLUICE_GUEST_EXPORT int cudaStreamBeginCapture(void* stream, int mode) {
  return note(sluice::guest::begin_capture(stream_number(stream), mode));
}
SLUICE_GUEST_EXPORT int cudaStreamEndCapture(void* stream, void** graph) {
  return note(
      sluice::guest::make_handle(CallKind::kCaptureEnd, {.handle = stream_number(stream)}, graph));
}
SLUICE_GUEST_EXPORT int cudaStreamIsCapturing(void* stream, int* status) {
  return note(sluice::guest::capture_status(stream_number(stream), status));
}
SLUICE_GUEST_EXPORT int cudaGraphInstantiate(void** exec, void* graph, unsigned long long flags) {
  return note(sluice::guest::instantiate(exec, graph, flags));
}
SLUICE_GUEST_EXPORT int cudaGraphInstantiateWithFlags(void** exec, void* graph,
                                                      unsigned long long flags) {
  return note(sluice::guest::instantiate(exec, graph, flags));
}
SLUICE_GUEST_EXPORT int cudaGraphLaunch(void* exec, void* stream) {
  return note(sluice::guest::launch_graph(exec, stream_number(stream)));
}
SLUICE_GUEST_EXPORT int cudaGraphLaunch_ptsz(void* exec, void* stream) {
  return note(sluice::guest::launch_graph(exec, stream_number(stream, true)));
}
SLUICE_GUEST_EXPORT int cudaGraphDestroy(void* graph) {
  return note(sluice::guest::destroy(CallKind::kGraphDestroy, graph));
}
SLUICE_GUEST_EXPORT int cudaGraphExecDestroy(void* exec) {
  return note(sluice::guest::destroy(CallKind::kGraphExecDestroy, exec));
}
SLUICE_GUEST_EXPORT int cudaStreamBeginCapture_ptsz(void* stream, int mode) {
  return note(sluice::guest::begin_capture(stream_number(stream, true), mode));
}
SLUICE_GUEST_EXPORT int cudaStreamEndCapture_ptsz(void* stream, void** graph) {
  return note(sluice::guest::make_handle(CallKind::kCaptureEnd,
                                         {.handle = stream_number(stream, true)}, graph));
}
SLUICE_GUEST_EXPORT int cudaStreamIsCapturing_ptsz(void* stream, int* status) {
  return note(sluice::guest::capture_status(stream_number(stream, true), status));
}
/// A launch brings the graph to the device.
SLUICE_GUEST_EXPORT int cudaGraphUpload(void* /*exec*/, void* /*stream*/) { return note({}); }
SLUICE_GUEST_EXPORT int cudaGraphUpload_ptsz(void* /*exec*/, void* /*stream*/) { return note({}); }
