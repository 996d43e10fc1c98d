// Work of an emulated device: what streams hold, and what orders it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "driver/types.h"
#include "emulator/machine/fault.h"

namespace sluice::cuda::emulator {

struct Stream;

/// A point that the work of a stream reaches.
struct Completion {
  bool is_reached = false;
  std::uint64_t time_ns = 0;  // of the emulated clock
};

/// Runs without the machine's lock, perhaps beside work of other streams.
using Operation = std::function<Fault()>;

/// Operations with an order, as a capture records them. Immutable once the capture has ended.
struct Graph {
  struct Node {
    Operation run;
    std::vector<std::size_t> after;  // earlier nodes
  };
  std::vector<Node> nodes;
};

/// One launch of a graph.
struct GraphRun {
  std::shared_ptr<const Graph> graph;
  enum class State { kWaiting, kRunning, kDone };
  std::vector<State> states;
};

/// An entry of a stream.
struct Work {
  Operation run = nullptr;                          // null: nothing to do but to be reached
  std::shared_ptr<Completion> waits_for = nullptr;  // null: only what comes before in the stream
  std::shared_ptr<Completion> completes = std::make_shared<Completion>();
  std::shared_ptr<GraphRun> graph = nullptr;  // null for a single operation
  std::uint64_t ticket = 0;                   // order of submission on the machine
};

/// What a device's contexts share. An error stays as long as the machine.
struct Device {
  CuDevice ordinal = 0;
  std::uint64_t used_bytes = 0;
  int num_retained = 0;  // of the primary context
  CuContext primary = nullptr;
  Fault error;
  std::set<CuDevice> peers;       // devices whose memory this one may reach
  std::set<int> split_resources;  // that no context was made of yet
};

/// The primary context of a device, or a green one. Lives as long as the machine.
struct Context {
  Device* device = nullptr;
  std::vector<int> multiprocessors;  // those that its work runs on
  bool is_green = false;
  std::shared_ptr<Stream> default_stream;
};

/// A capture in progress, shared by the streams that take part.
struct Capture {
  Stream* origin = nullptr;
  CuCaptureMode mode = CuCaptureMode::kGlobal;
  std::thread::id thread;
  bool is_invalid = false;
  Graph graph;
  std::vector<Stream*> members;
};

/// The machine's lock guards a stream. A stream that was destroyed lives until its work is done.
struct Stream {
  Context* context = nullptr;
  bool is_default = false;   // the legacy default stream of its context
  bool is_blocking = false;  // waits for the default stream, which waits for it
  std::deque<Work> work;
  bool is_running = false;  // its first entry, or a node of it
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> last_nodes;  // of the capture, which the next one comes after
};

struct Event {
  bool has_time = true;
  std::shared_ptr<Completion> last;  // null: never recorded, which counts as reached
  std::shared_ptr<Capture> capture;  // recorded in this capture, at `nodes`
  std::vector<std::size_t> nodes;
};

}  // namespace sluice::cuda::emulator
