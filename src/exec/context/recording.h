// A range recorded into command lists: once per context and shape, submitted in every run.
#pragma once

#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "exec/context/device_mirror.h"
#include "exec/executors/list_run.h"
#include "exec/range_plan.h"
#include "exec/value.h"

namespace sluice::exec {

class KeptStates;
struct StateMemory;

/// An output of the subgraph that a range's kernels write straight into its buffer.
struct WrittenOutput {
  std::size_t output = 0;
  std::int64_t size_bytes = 0;
};

/// The command lists of a range. Plans of one placement share them: a run of other shapes exchanges
/// the kernels that differ.
struct RecordedLists {
  RecordedLists() = default;
  ~RecordedLists() { count_bytes(nullptr); }
  RecordedLists(const RecordedLists&) = delete;
  RecordedLists& operator=(const RecordedLists&) = delete;

  std::shared_ptr<const plan::Placement> placement;
  /// The plan whose kernels the lists have; null after an exchange that failed.
  std::shared_ptr<const RangePlan> plan;
  std::vector<std::shared_ptr<const void>> constants;  ///< on their devices; outlive the lists
  /// By task: memory of its device; null on a device that reads host memory.
  std::vector<std::unique_ptr<DeviceMirror>> mirrors;
  /// Copies of captured tensors to devices, one list per task that reads some. They run when the
  /// frame's call number is another than `captures_of`.
  struct CaptureList {
    std::size_t group = 0;
    backend::CommandList list;
    std::int64_t copied_bytes = 0;
  };
  std::vector<CaptureList> captures;
  std::uint64_t captures_of = 0;
  /// States of the context that lie on a device before and after each run of the lists.
  std::vector<std::pair<std::size_t, std::shared_ptr<StateMemory>>> states;
  std::vector<TaskList> tasks;  // destroyed before the memory that they name
  /// Where the last step writes its results' actual dimensions, one entry per output; empty unless
  /// the range ends in data-dependent shapes. Never resized after recording.
  std::vector<std::vector<std::int64_t>> actual_dims;
  /// A kernel of the lists.
  struct Entry {
    std::int32_t task = -1;  ///< -1: the step has no kernel
    std::int32_t entry = -1;
  };
  std::vector<Entry> entries;  ///< by step of the range
  bool is_exchangeable = false;
  std::int64_t bytes = 0;         ///< of all lists and mirrors
  std::int64_t copied_bytes = 0;  ///< that `tasks` copy to and from devices

  /// Whether runs of another plan can use the lists: they contain no sizes but those in kernels.
  bool serves(const RangePlan& other) const;
  /// Gives the lists the kernels of a plan that they serve.
  /// Fails: as CommandList::exchange.
  Status take_kernels(const std::shared_ptr<const RangePlan>& wanted);
  /// Adds `bytes` to a sum that outlives the lists, and removes them from the former one.
  void count_bytes(std::int64_t* sum);

 private:
  std::int64_t* counted_in_ = nullptr;
};

struct Recording {
  std::shared_ptr<const RangePlan> plan;
  std::vector<WrittenOutput> outputs;
  /// By output of the subgraph, without address: what a range that ends the run always gives. Empty
  /// where results of the last step decide.
  std::vector<terms::TensorView> output_views;
  std::shared_ptr<RecordedLists> lists;

  /// An estimate of its memory and that of its plan, without the lists.
  std::int64_t bytes() const;
};

/// Records the lists of a plan. `states`: those of the context, for its main subgraph; may be null.
/// Fails: errors of the backends' lists and of the devices' services; kResourceExhausted for a
///        device that is too small; kUnimplemented for strings on a device without host memory.
Result<std::shared_ptr<RecordedLists>> record_lists(const ModelState& model,
                                                    const SubgraphCode& code,
                                                    std::shared_ptr<const RangePlan> plan,
                                                    const std::stop_token& stop = {},
                                                    KeptStates* states = nullptr);

/// Requires: `lists` serves the plan, or has been recorded from it.
std::unique_ptr<Recording> make_recording(const SubgraphCode& code,
                                          std::shared_ptr<const RangePlan> plan,
                                          std::shared_ptr<RecordedLists> lists);

}  // namespace sluice::exec
