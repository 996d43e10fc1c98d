#include "emulator/machine/capture.h"

#include <algorithm>
#include <utility>

namespace sluice::cuda::emulator {
namespace {

thread_local CuCaptureMode mode_of_thread = CuCaptureMode::kGlobal;

/// Whether every node that a stream added last comes before one of the origin's last nodes: the
/// stream has joined the origin.
bool has_joined(const Capture& capture, const Stream& stream) {
  std::vector<bool> before(capture.graph.nodes.size(), false);
  for (const std::size_t node : capture.origin->last_nodes) before[node] = true;
  for (std::size_t node = before.size(); node-- > 0;) {
    if (!before[node]) continue;
    for (const std::size_t earlier : capture.graph.nodes[node].after) before[earlier] = true;
  }
  return std::ranges::all_of(stream.last_nodes, [&](std::size_t node) { return before[node]; });
}

void leave(Machine& machine, const std::shared_ptr<Capture>& capture) {
  for (Stream* member : capture->members) {
    member->capture = nullptr;
    member->last_nodes.clear();
  }
  capture->members.clear();
  std::erase(machine.captures, capture);
}

void join(Stream& stream, const std::shared_ptr<Capture>& capture) {
  if (stream.capture == capture) return;
  stream.capture = capture;
  capture->members.push_back(&stream);
}

}  // namespace

CuResult capture_operation(Stream& stream, Operation operation) {
  Capture& capture = *stream.capture;
  if (capture.is_invalid) return CuResult::kCaptureInvalidated;
  capture.graph.nodes.push_back({std::move(operation), stream.last_nodes});
  stream.last_nodes = {capture.graph.nodes.size() - 1};
  return CuResult::kSuccess;
}

bool blocks_a_capture(Machine& machine, const Stream& default_stream) {
  for (const auto& capture : machine.captures) {
    for (const Stream* member : capture->members) {
      if (!member->is_blocking || member->context != default_stream.context) continue;
      capture->is_invalid = true;
      return true;
    }
  }
  return false;
}

CuResult forbid_in_capture(Capture& capture, std::string what) {
  capture.is_invalid = true;
  return explain(CuResult::kCaptureUnsupported, std::move(what) + " during a capture");
}

CuCaptureMode exchange_capture_mode(CuCaptureMode mode) {
  return std::exchange(mode_of_thread, mode);
}

CuResult check_no_capture(Machine& machine, const char* what) {
  if (mode_of_thread == CuCaptureMode::kRelaxed) return CuResult::kSuccess;
  for (const auto& capture : machine.captures) {
    const bool is_own = capture->thread == std::this_thread::get_id();
    const bool concerns = is_own ? capture->mode != CuCaptureMode::kRelaxed
                                 : capture->mode == CuCaptureMode::kGlobal &&
                                       mode_of_thread == CuCaptureMode::kGlobal;
    if (concerns) return forbid_in_capture(*capture, what);
  }
  return CuResult::kSuccess;
}

CuResult begin_capture(Machine& machine, const std::shared_ptr<Stream>& stream,
                       CuCaptureMode mode) {
  if (stream->is_default) {
    return explain(CuResult::kCaptureUnsupported, "the default stream cannot be captured");
  }
  if (stream->capture != nullptr) {
    return explain(CuResult::kIllegalState, "the stream is captured already");
  }
  auto capture = std::make_shared<Capture>();
  capture->origin = stream.get();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  join(*stream, capture);
  machine.captures.push_back(std::move(capture));
  return CuResult::kSuccess;
}

CuResult end_capture(Machine& machine, const std::shared_ptr<Stream>& stream, CuGraph* graph) {
  *graph = nullptr;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return CuResult::kCaptureUnmatched;
  if (capture->origin != stream.get()) {
    capture->is_invalid = true;
    return CuResult::kCaptureUnmatched;
  }
  if (capture->mode != CuCaptureMode::kRelaxed && capture->thread != std::this_thread::get_id()) {
    return CuResult::kCaptureWrongThread;
  }
  const bool all_joined = std::ranges::all_of(
      capture->members, [&](const Stream* member) { return has_joined(*capture, *member); });
  leave(machine, capture);
  if (capture->is_invalid) return CuResult::kCaptureInvalidated;
  if (!all_joined) return CuResult::kCaptureUnjoined;
  *graph = machine.graphs.add(std::make_shared<Graph>(std::move(capture->graph)));
  return CuResult::kSuccess;
}

CuResult wait_captured(const std::shared_ptr<Stream>& stream, const Event& event) {
  if (event.capture->is_invalid) return CuResult::kCaptureInvalidated;
  if (stream->capture != nullptr && stream->capture != event.capture) {
    stream->capture->is_invalid = event.capture->is_invalid = true;
    return CuResult::kCaptureMerge;
  }
  join(*stream, event.capture);
  for (const std::size_t node : event.nodes) {
    if (std::ranges::find(stream->last_nodes, node) == stream->last_nodes.end()) {
      stream->last_nodes.push_back(node);
    }
  }
  return CuResult::kSuccess;
}

}  // namespace sluice::cuda::emulator
