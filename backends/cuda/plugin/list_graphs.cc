#include "plugin/list_graphs.h"

#include <algorithm>

#include "plugin/backend.h"

namespace sluice::cuda {
namespace {

using plugin::detail::Command;

/// A capture of a stream by this thread: calls of others stay allowed. Ends with it, however it
/// goes: a stream that stays captured is lost.
class Capture {
 public:
  Capture(const Driver& driver, Stream& stream, GraphCopies* copies)
      : driver_(driver), stream_(stream) {
    stream_.copies.record(copies);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    static_cast<void>(end());
    if (graph_ != nullptr) driver_.table.graph_destroy(graph_);
  }

  Status begin() {
    const CuResult result =
        driver_.table.stream_begin_capture(stream_.handle, CuCaptureMode::kThreadLocal);
    is_open_ = result == CuResult::kSuccess;
    return check_call(driver_, result, "starting a capture");
  }
  Status end() {
    stream_.copies.record(nullptr);
    if (!std::exchange(is_open_, false)) return plugin::ok();
    return check_call(driver_, driver_.table.stream_end_capture(stream_.handle, &graph_),
                      "ending a capture");
  }
  CuGraph graph() const { return graph_; }

 private:
  const Driver& driver_;
  Stream& stream_;
  CuGraph graph_ = nullptr;
  bool is_open_ = false;
};

bool reports_indices(const Command& command) {
  return command.kernel != nullptr &&
         static_cast<const Kernel&>(*command.kernel).source.reports_indices;
}

std::size_t part_bytes(std::size_t bytes) {
  return (bytes + PinnedMemory::kPart - 1) / PinnedMemory::kPart * PinnedMemory::kPart;
}

/// What a copy of the list may take of pinned memory: those within the device take none.
std::size_t pinned_bytes(const Command& command) {
  return command.kernel != nullptr ? 0 : part_bytes(static_cast<std::size_t>(command.size_bytes));
}

}  // namespace

LaunchGraph::~LaunchGraph() {
  if (exec_ != nullptr) driver_.table.graph_exec_destroy(exec_);
}

Status LaunchGraph::capture(Backend& backend, Stream& stream, const CommandList& list,
                            std::size_t begin, std::size_t end, std::span<void* const> bindings) {
  std::size_t bytes = 0;
  for (std::size_t i = begin; i < end; ++i) {
    bytes += pinned_bytes(list.commands[i]);
    reports_indices_ = reports_indices_ || reports_indices(list.commands[i]);
  }
  Status status = plugin::ok();
  if (bytes > 0) status = PinnedMemory::allocate(driver_, bytes, &copies_.memory);
  // A capture allows no allocation.
  if (status.is_ok() && reports_indices_) status = stream.reports.prepare(driver_, stream.handle);
  if (!status.is_ok()) return status;
  Capture capture(driver_, stream, &copies_);
  status = capture.begin();
  if (status.is_ok()) status = backend.run_commands(stream, list, begin, end, bindings);
  if (status.is_ok()) status = stream.reports.copy_back(driver_, stream.handle);
  Status ended = capture.end();
  if (status.is_ok()) status = std::move(ended);
  if (!status.is_ok()) return status;
  return check_call(driver_, driver_.table.graph_instantiate_with_flags(&exec_, capture.graph(), 0),
                    "making a graph");
}

Status LaunchGraph::launch(Stream& stream, std::span<void* const> bindings) {
  Status status = stream.copies.start(driver_, stream.handle, copies_, bindings);
  if (!status.is_ok()) return status;
  const CuResult result = driver_.table.graph_launch(exec_, stream.handle);
  if (result != CuResult::kSuccess) return check_call(driver_, result, "launching a graph");
  stream.copies.expect(copies_, bindings);
  if (reports_indices_) stream.reports.expect();
  return plugin::ok();
}

Status ListGraphs::run(Backend& backend, Stream& stream, const CommandList& list,
                       std::span<void* const> bindings) {
  const GraphUse use = backend.driver().graphs;
  if (use != GraphUse::kNone && !is_refused_) {
    std::vector<bool> on_device;
    Status found = find_on_device(backend, list, bindings, &on_device);
    if (!found.is_ok()) return found;
    if (parts_.empty() || on_device != is_on_device_) {
      is_on_device_ = std::move(on_device);
      found = divide(backend, list);
      if (!found.is_ok()) {
        parts_.clear();
        return found;
      }
    }
  }
  if (use == GraphUse::kNone || is_refused_ || !has_graphs_) {
    return backend.run_commands(stream, list, 0, list.commands.size(), bindings);
  }
  Variant& variant = find(stream.number, addresses_of(bindings));
  const bool is_new = std::exchange(variant.is_new, false);
  if (variant.graphs.empty() && (!is_new || use == GraphUse::kAlways)) {
    Status captured = capture(backend, stream, list, bindings, variant);
    is_refused_ = !captured.is_ok();
    backend.count_capture(captured);
  }
  if (variant.graphs.empty()) {
    return backend.run_commands(stream, list, 0, list.commands.size(), bindings);
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    LaunchGraph* const graph = variant.graphs[i].get();
    Status status =
        graph != nullptr && graph->serves(bindings)
            ? graph->launch(stream, bindings)
            : backend.run_commands(stream, list, parts_[i].begin, parts_[i].end, bindings);
    if (!status.is_ok()) return status;
  }
  return plugin::ok();
}

Status ListGraphs::find_on_device(const Backend& backend, const CommandList& list,
                                  std::span<void* const> bindings,
                                  std::vector<bool>* on_device) const {
  on_device->resize(static_cast<std::size_t>(list.num_bindings));
  for (std::size_t i = 0; i < on_device->size(); ++i) {
    CuDevice device = Backend::kOfHost;
    if (Status status = backend.locate(bindings[i], &device); !status.is_ok()) return status;
    (*on_device)[i] = device != Backend::kOfHost;
  }
  return plugin::ok();
}

Status ListGraphs::find_alone(const Backend& backend, const Command& command,
                              std::size_t free_bytes, bool* is_alone) const {
  *is_alone = false;
  if (command.kernel != nullptr) return plugin::ok();
  const std::size_t bytes = pinned_bytes(command);
  *is_alone = bytes > kMaxStagedBytes || bytes > free_bytes;
  CuDevice first = Backend::kOfHost;
  for (const sluice_argument& argument : {command.inputs[0], command.outputs[0]}) {
    CuDevice device = Backend::kOfHost;
    if (argument.binding >= 0) {
      *is_alone = *is_alone || is_on_device_[static_cast<std::size_t>(argument.binding)];
    } else if (Status status = backend.locate(argument.address, &device); !status.is_ok()) {
      return status;
    }
    if (device == Backend::kOfHost) continue;
    *is_alone = *is_alone || (first != Backend::kOfHost && first != device);
    first = device;
  }
  return plugin::ok();
}

Status ListGraphs::divide(const Backend& backend, const CommandList& list) {
  variants_.clear();
  parts_.clear();
  std::size_t free_bytes = kPinnedBytes;
  bool was_alone = true;
  is_of_kernels_.assign(static_cast<std::size_t>(list.num_bindings), false);
  for (std::size_t i = 0; i < list.commands.size(); ++i) {
    const Command& command = list.commands[i];
    bool is_alone = false;
    Status found = find_alone(backend, command, free_bytes, &is_alone);
    if (!found.is_ok()) return found;
    if (!is_alone) free_bytes -= pinned_bytes(command);
    if (is_alone || was_alone) parts_.push_back({i, i, false});
    parts_.back().end = i + 1;
    was_alone = is_alone;
    parts_.back().is_graph = !is_alone && i + 1 - parts_.back().begin >= kMinCommands;
    if (command.kernel == nullptr) continue;
    for (const auto* arguments : {&command.inputs, &command.outputs}) {
      for (const sluice_argument& argument : *arguments) {
        if (argument.binding >= 0)
          is_of_kernels_[static_cast<std::size_t>(argument.binding)] = true;
      }
    }
  }
  has_graphs_ = std::ranges::any_of(parts_, [](const Part& part) { return part.is_graph; });
  return plugin::ok();
}

std::vector<void*> ListGraphs::addresses_of(std::span<void* const> bindings) const {
  std::vector<void*> addresses(is_of_kernels_.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (is_of_kernels_[i]) addresses[i] = bindings[i];
  }
  return addresses;
}

ListGraphs::Variant& ListGraphs::find(std::uint64_t stream, std::vector<void*> addresses) {
  const auto found = std::ranges::find_if(variants_, [&](const Variant& variant) {
    return variant.stream == stream && variant.addresses == addresses;
  });
  if (found != variants_.end()) {
    std::rotate(variants_.begin(), found, found + 1);
  } else {
    if (variants_.size() == kMaxVariants) variants_.pop_back();
    variants_.insert(variants_.begin(), Variant{stream, std::move(addresses)});
  }
  return variants_.front();
}

Status ListGraphs::capture(Backend& backend, Stream& stream, const CommandList& list,
                           std::span<void* const> bindings, Variant& variant) const {
  std::vector<std::unique_ptr<LaunchGraph>> graphs(parts_.size());
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i].is_graph) continue;
    graphs[i] = std::make_unique<LaunchGraph>(backend.driver());
    Status status =
        graphs[i]->capture(backend, stream, list, parts_[i].begin, parts_[i].end, bindings);
    if (!status.is_ok()) return status;
  }
  variant.graphs = std::move(graphs);
  return plugin::ok();
}

}  // namespace sluice::cuda
