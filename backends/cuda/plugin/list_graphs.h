// Command lists as CUDA graphs: one launch instead of one per kernel.
//
// A list that a stream runs again with the same addresses is captured, part by part. A part ends
// before and behind a copy that runs alone: a large one of the host (see host_copies.h), one of the
// caller's memory on the device, which may be elsewhere in each run, and one between two devices: a
// graph belongs to one, and a copy without a link passes through the host.
//
//     list    copy  kernel  kernel  copy   large copy   kernel  kernel  kernel  copy
//     parts   |--------- graph --------|   |- alone -|  |---------- graph ---------|
//
// A graph belongs to a stream: its kernels stay on the multiprocessors of the stream's context, and
// have the addresses of the stream's mask and words (confine/masked_kernel.h, index_reports.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plugin/host_copies.h"

namespace sluice::cuda {

class Backend;
struct CommandList;
struct Stream;

/// A part of a list that can be launched.
class LaunchGraph {
 public:
  explicit LaunchGraph(const Driver& driver) : driver_(driver) {}
  LaunchGraph(const LaunchGraph&) = delete;
  LaunchGraph& operator=(const LaunchGraph&) = delete;
  ~LaunchGraph();

  /// Captures commands `begin` to `end` of the list. Nothing of them runs.
  /// Requires: `stream` is the caller's, and its device's context current.
  /// Fails: as the driver, and as the commands
  Status capture(Backend& backend, Stream& stream, const CommandList& list, std::size_t begin,
                 std::size_t end, std::span<void* const> bindings);
  /// Whether a launch with these bindings does what the commands would.
  bool serves(std::span<void* const> bindings) const { return !copies_.feed_each_other(bindings); }
  /// Requires: as `capture`, with the same stream; `serves(bindings)`.
  /// Fails: as the driver
  Status launch(Stream& stream, std::span<void* const> bindings);

 private:
  const Driver& driver_;
  CuGraphExec exec_ = nullptr;
  GraphCopies copies_;
  bool reports_indices_ = false;
};

/// The graphs of one list. Used by one thread at a time, as the list is.
class ListGraphs {
 public:
  /// Lists of fewer commands gain nothing.
  static constexpr std::size_t kMinCommands = 3;
  /// Limit of graphs for different streams and addresses. The least recently used graphs go first.
  static constexpr std::size_t kMaxVariants = 4;

  /// Runs a finished list, as Driver::graphs says. A list that cannot be captured runs without
  /// graphs; Backend::graph_counts and a line on standard error say why.
  /// Requires: as LaunchGraph::capture.
  /// Fails: as the commands
  Status run(Backend& backend, Stream& stream, const CommandList& list,
             std::span<void* const> bindings);

 private:
  struct Part {
    std::size_t begin;  // numbers of commands
    std::size_t end;
    bool is_graph;
  };
  struct Variant {
    std::uint64_t stream = 0;      // Stream::number
    std::vector<void*> addresses;  // of the bindings that kernels use; null for others
    bool is_new = true;
    std::vector<std::unique_ptr<LaunchGraph>> graphs = {};  // by part, null for others; or empty
  };

  Status divide(const Backend& backend, const CommandList& list);
  Status find_on_device(const Backend& backend, const CommandList& list,
                        std::span<void* const> bindings, std::vector<bool>* on_device) const;
  Status find_alone(const Backend& backend, const plugin::detail::Command& command,
                    std::size_t free_bytes, bool* is_alone) const;
  std::vector<void*> addresses_of(std::span<void* const> bindings) const;
  Variant& find(std::uint64_t stream, std::vector<void*> addresses);
  Status capture(Backend& backend, Stream& stream, const CommandList& list,
                 std::span<void* const> bindings, Variant& variant) const;

  bool is_refused_ = false;          // a capture failed
  bool has_graphs_ = false;          // some part can be one
  std::vector<Part> parts_;          // empty until the first run
  std::vector<bool> is_on_device_;   // by binding, when the list was divided
  std::vector<bool> is_of_kernels_;  // by binding: kernels use it
  std::vector<Variant> variants_;    // the last used first
};

}  // namespace sluice::cuda
