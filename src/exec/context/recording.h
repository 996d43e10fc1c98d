// A range recorded into command lists: once per context and shape, submitted in every run.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "exec/context/device_mirror.h"
#include "exec/executors/list_run.h"
#include "exec/range_plan.h"
#include "exec/value.h"

namespace sluice::exec {

/// An output of the subgraph that a range's kernels write straight into its buffer.
struct WrittenOutput {
  std::size_t output = 0;
  std::int64_t size_bytes = 0;
};

struct Recording {
  std::shared_ptr<const RangePlan> plan;
  std::vector<WrittenOutput> outputs;
  std::vector<std::shared_ptr<const void>> constants;  ///< on their devices; outlive the lists
  /// By task: memory of its device; null on a device that reads host memory.
  std::vector<std::unique_ptr<DeviceMirror>> mirrors;
  /// Copies of captured tensors to devices, one list per task that reads some. They run when the
  /// frame's call number is another than `captures_of`.
  struct CaptureList {
    std::size_t group = 0;
    backend::CommandList list;
  };
  std::vector<CaptureList> captures;
  mutable std::uint64_t captures_of = 0;
  std::vector<TaskList> tasks;  // destroyed before the memory that they name
  /// Where the last step writes its results' actual dimensions, one entry per output; empty unless
  /// the range ends in data-dependent shapes. Never resized after recording.
  std::vector<std::vector<std::int64_t>> actual_dims;
  /// By output of the subgraph, without address: what a range that ends the run always gives. Empty
  /// where results of the last step decide.
  std::vector<TensorView> output_views;
  std::int64_t list_bytes = 0;  ///< of all lists

  /// Its memory and that of its plan, on the host and on devices; partly an estimate.
  std::int64_t bytes() const;
};

/// Fails: errors of the backends' command lists and of `bring_constant`; kResourceExhausted for a
///        device that is too small; kUnimplemented for strings on a device without host memory.
Result<std::unique_ptr<Recording>> record(const ModelState& model, const SubgraphCode& code,
                                          std::shared_ptr<const RangePlan> plan,
                                          const std::stop_token& stop = {});

}  // namespace sluice::exec
