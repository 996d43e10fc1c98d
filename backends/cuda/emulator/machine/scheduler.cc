#include "emulator/machine/scheduler.h"

#include <algorithm>

namespace sluice::cuda::emulator {
namespace {

using State = GraphRun::State;

bool is_node_ready(const GraphRun& run, std::size_t node) {
  return run.states[node] == State::kWaiting &&
         std::ranges::all_of(run.graph->nodes[node].after, [&](std::size_t before) {
           return run.states[before] == State::kDone;
         });
}

bool is_over(const GraphRun& run) {
  return std::ranges::all_of(run.states, [](State state) { return state == State::kDone; });
}

}  // namespace

void Scheduler::submit(const std::shared_ptr<Stream>& stream, Work work) {
  work.ticket = ++tickets_;
  if (stream->work.empty()) active_.push_back(stream);
  stream->work.push_back(std::move(work));
}

/// The default stream of a context and its blocking streams run their entries in the order in which
/// they were submitted, as far as one of the two is the default stream.
bool Scheduler::may_start(const Stream& stream) const {
  const Work& first = stream.work.front();
  if (first.waits_for != nullptr && !first.waits_for->is_reached) return false;
  if (!stream.is_default && !stream.is_blocking) return true;
  return std::ranges::none_of(active_, [&](const auto& other) {
    const bool orders = stream.is_default ? other->is_blocking : other->is_default;
    return orders && other->context == stream.context && other->work.front().ticket < first.ticket;
  });
}

std::vector<Scheduler::Piece> Scheduler::ready_pieces() const {
  std::vector<Piece> ready;
  for (const auto& stream : active_) {
    const auto& graph = stream->work.front().graph;
    if (graph == nullptr || graph->states.empty()) {
      if (!stream->is_running && may_start(*stream)) ready.push_back({stream, 0});
    } else if (may_start(*stream)) {
      for (std::size_t node = 0; node < graph->states.size(); ++node) {
        if (is_node_ready(*graph, node)) ready.push_back({stream, node});
      }
    }
  }
  return ready;
}

bool Scheduler::step(Lock& lock) {
  const std::vector<Piece> ready = ready_pieces();
  if (ready.empty()) return false;
  const Piece& piece = ready[random_() % ready.size()];
  const auto& graph = piece.stream->work.front().graph;
  if (graph == nullptr || graph->states.empty()) {
    run_single(lock, piece.stream);
  } else {
    run_node(lock, piece);
  }
  progress_.notify_all();
  return true;
}

Fault Scheduler::run(Lock& lock, const Operation& operation) {
  ++num_running_;
  lock.unlock();
  Fault fault = operation();
  lock.lock();
  --num_running_;
  ++num_pieces_;
  return fault;
}

void Scheduler::run_single(Lock& lock, const std::shared_ptr<Stream>& stream) {
  stream->is_running = true;
  const Operation operation = std::move(stream->work.front().run);
  Fault fault;
  if (operation != nullptr) fault = run(lock, operation);
  stream->is_running = false;
  finish_first(*stream, fault);
}

void Scheduler::run_node(Lock& lock, const Piece& piece) {
  const std::shared_ptr<GraphRun> graph = piece.stream->work.front().graph;
  graph->states[piece.node] = State::kRunning;
  const Fault fault = run(lock, graph->graph->nodes[piece.node].run);
  finish_graph(*piece.stream, *graph, piece.node, fault);
}

void Scheduler::finish_graph(Stream& stream, GraphRun& graph, std::size_t node,
                             const Fault& fault) {
  graph.states[node] = State::kDone;
  // After a fault, what has not begun is left out. Nodes that run on other threads end the entry.
  if (!fault.is_none()) std::ranges::replace(graph.states, State::kWaiting, State::kDone);
  if (is_over(graph)) {
    finish_first(stream, fault);
  } else if (!fault.is_none()) {
    fail(*stream.context->device, fault);
  }
}

void Scheduler::finish_first(Stream& stream, const Fault& fault) {
  Completion& reached = *stream.work.front().completes;
  reached.is_reached = true;
  reached.time_ns = now_ns();
  stream.work.pop_front();
  if (stream.work.empty()) {
    std::erase_if(active_, [&](const auto& active) { return active.get() == &stream; });
  }
  if (!fault.is_none()) fail(*stream.context->device, fault);
}

void Scheduler::fail(Device& device, const Fault& fault) {
  if (device.error.is_none()) device.error = fault;
  drop(device);
}

void Scheduler::drop(const Device& device) {
  for (const auto& stream : active_) {
    if (stream->context->device != &device) continue;
    const bool graph_runs =
        stream->work.front().graph != nullptr &&
        std::ranges::count(stream->work.front().graph->states, State::kRunning) > 0;
    const std::size_t kept = stream->is_running || graph_runs ? 1 : 0;
    if (graph_runs) {
      std::ranges::replace(stream->work.front().graph->states, State::kWaiting, State::kDone);
    }
    for (; stream->work.size() > kept; stream->work.pop_back()) {
      stream->work.back().completes->is_reached = true;
    }
  }
  std::erase_if(active_, [](const auto& stream) { return stream->work.empty(); });
  progress_.notify_all();
}

bool Scheduler::is_busy(const Context& context) const {
  return std::ranges::any_of(active_,
                             [&](const auto& stream) { return stream->context == &context; });
}

}  // namespace sluice::cuda::emulator
