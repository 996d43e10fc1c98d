// The command lists of a range, and the executors that submit them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/command_list.h"
#include "backend/extensions/stop_watch.h"
#include "device/stream/stream_pool.h"
#include "exec/executors/run_trace.h"

namespace sluice::exec {

/// Memory that a list reads or writes: as in plan::Place, `binding` and an offset into it.
struct BoundAccess {
  std::int32_t binding = 0;
  std::int64_t offset_bytes = 0;
  std::int64_t size_bytes = 0;
  bool is_write = false;
};

/// A command list and what must have ended before it starts.
struct TaskList {
  explicit TaskList(backend::CommandList recorded) : list(std::move(recorded)) {}

  std::size_t segment = 0;          ///< of the main subgraph; 0 in bodies
  std::size_t group = 0;            ///< into SegmentMap::groups
  std::vector<std::int32_t> after;  ///< indices of earlier lists; not known to the linear executor
  double rank = 0;                  ///< the higher, the more urgent
  bool is_on_host = true;           ///< its device reads host memory
  const backend::Group* placed = nullptr;  ///< kept alive by the list
  const sluice_stop* stop = nullptr;       ///< of the backend; null: its kernels run to their end
  std::string name;                        ///< of the first operation
  std::vector<BoundAccess> accesses;       ///< for a context that orders its streams by events
  backend::CommandList list;
};

/// One run of the lists of a range. `tasks` are in topological order.
struct ListRun {
  std::span<const TaskList> tasks;
  std::span<device::PooledStream> streams;  ///< by group
  std::span<void* const> bindings;
  RunTrace* trace = nullptr;  ///< null: nothing is measured
  /// Asked between two lists and within long kernels, by one thread at a time; may be null or
  /// empty. An error ends the run.
  const std::function<Status()>* checkpoint = nullptr;

  bool has_checkpoint() const { return checkpoint != nullptr && *checkpoint; }
  Status check() const { return has_checkpoint() ? (*checkpoint)() : ok_status(); }
};

/// A list between its submission and its end. Without a trace it costs a branch.
class Submission {
 public:
  /// Submits list `index` to its stream. A checkpoint that ends it within a kernel is the error.
  Status submit(const ListRun& run, std::size_t index);
  /// Tells the trace that the list has ended.
  void end(const ListRun& run);

 private:
  ListTime time_;
};

/// Submits a list that ends early, within a kernel too, at the first error of `checkpoint`, which
/// is then the result. The checkpoint may be null or empty.
Status submit_watched(const TaskList& task, device::PooledStream& stream,
                      std::span<void* const> bindings, const std::function<Status()>* checkpoint);

// All fail as the kernels do; every list that was submitted has ended on return.

/// Submits a list when the one before has ended: lists of two backends share memory but no order of
/// their streams.
Status run_linear(const ListRun& run);

/// Submits every list whose predecessors have ended to its stream, a list per stream at a time, of
/// the lists that are ready the one of highest rank first. Lists of own-memory devices precede
/// those of the host, which occupy this thread.
Status run_dataflow(const ListRun& run);

}  // namespace sluice::exec
