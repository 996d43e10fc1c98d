// Captures and graphs. A proxy serves each guest on a thread of its own, so every capture is one of
// its thread: in the driver's global mode a guest that captures would stop its neighbours.
#include "guest/proxy/guest.h"

namespace sluice::guest {
namespace {

using cuda::CuResult;

CuResult capture_begin(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<HandleBody>(call.body);
  GuestStream* const stream = guest.streams.find(body.handle);  // CUDA captures no default stream
  if (stream == nullptr) {
    return body.handle == kDefaultStream ? CuResult::kCaptureUnsupported : CuResult::kInvalidHandle;
  }
  const auto relaxed = static_cast<std::uint32_t>(cuda::CuCaptureMode::kRelaxed);
  if (stream->is_captured || body.flags > relaxed) return CuResult::kInvalidValue;
  const auto mode =
      body.flags == relaxed ? cuda::CuCaptureMode::kRelaxed : cuda::CuCaptureMode::kThreadLocal;
  const CuResult result = guest.driver().stream_begin_capture(stream->stream, mode);
  if (result != CuResult::kSuccess) return result;
  stream->is_captured = true;
  guest.count_captures(1);
  return CuResult::kSuccess;
}

CuResult capture_end(Guest& guest, const Call& call, Answer& answer) {
  GuestStream* const stream = guest.streams.find(from_body<HandleBody>(call.body).handle);
  if (stream == nullptr) return CuResult::kInvalidHandle;
  if (!stream->is_captured) return CuResult::kCaptureUnmatched;
  cuda::CuGraph graph = nullptr;
  const CuResult result = guest.driver().stream_end_capture(stream->stream, &graph);
  stream->is_captured = false;
  guest.count_captures(-1);
  if (result != CuResult::kSuccess) return result;
  answer.words[0] = guest.graphs.add(graph);
  if (answer.words[0] != 0) return CuResult::kSuccess;
  guest.driver().graph_destroy(graph);
  return CuResult::kOutOfMemory;
}

CuResult capture_ask(Guest& guest, const Call& call, Answer& answer) {
  GuestStream* const stream = guest.find_stream(from_body<HandleBody>(call.body).handle);
  if (stream == nullptr) return CuResult::kInvalidHandle;
  cuda::CuCaptureStatus status = cuda::CuCaptureStatus::kNone;
  const CuResult result = guest.driver().stream_is_capturing(stream->stream, &status);
  answer.words[0] = static_cast<std::uint64_t>(status);
  return result;
}

CuResult graph_instantiate(Guest& guest, const Call& call, Answer& answer) {
  const auto body = from_body<HandleBody>(call.body);
  const cuda::CuGraph* const graph = guest.graphs.find(body.handle);
  if (graph == nullptr) return CuResult::kInvalidHandle;
  cuda::CuGraphExec exec = nullptr;
  const CuResult result = guest.driver().graph_instantiate_with_flags(&exec, *graph, body.flags);
  if (result != CuResult::kSuccess) return result;
  answer.words[0] = guest.graph_execs.add(exec);
  if (answer.words[0] != 0) return CuResult::kSuccess;
  guest.driver().graph_exec_destroy(exec);
  return CuResult::kOutOfMemory;
}

CuResult graph_destroy(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<HandleBody>(call.body);
  const cuda::CuGraph* const graph = guest.graphs.find(body.handle);
  if (graph == nullptr) return CuResult::kInvalidHandle;
  const CuResult result = guest.driver().graph_destroy(*graph);
  guest.graphs.remove(body.handle);
  return result;
}

CuResult graph_launch(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<HandleBody>(call.body);
  const cuda::CuGraphExec* const exec = guest.graph_execs.find(body.handle);
  GuestStream* stream = nullptr;
  const CuResult result = guest.enter(body.other, &stream);
  if (result != CuResult::kSuccess) return result;
  if (exec == nullptr) return CuResult::kInvalidHandle;
  return guest.driver().graph_launch(*exec, stream->stream);
}

CuResult graph_exec_destroy(Guest& guest, const Call& call, Answer& /*answer*/) {
  const auto body = from_body<HandleBody>(call.body);
  const cuda::CuGraphExec* const exec = guest.graph_execs.find(body.handle);
  if (exec == nullptr) return CuResult::kInvalidHandle;
  const CuResult result = guest.driver().graph_exec_destroy(*exec);
  guest.graph_execs.remove(body.handle);
  return result;
}

}  // namespace

void fill_graph_entries(EntryTable& table) {
  table[CallKind::kCaptureBegin] = capture_begin;
  table[CallKind::kCaptureEnd] = capture_end;
  table[CallKind::kCaptureAsk] = capture_ask;
  table[CallKind::kGraphInstantiate] = graph_instantiate;
  table[CallKind::kGraphDestroy] = graph_destroy;
  table[CallKind::kGraphLaunch] = graph_launch;
  table[CallKind::kGraphExecDestroy] = graph_exec_destroy;
}

}  // namespace sluice::guest
