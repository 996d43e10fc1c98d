// A stage recorded into command lists, once per context, submitted per run.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "backend/command_list.h"
#include "exec/stage_plan.h"

namespace sluice::exec {

/// The steps of a segment that lie in one stage.
struct Segment {
  std::size_t index = 0;  ///< of the main subgraph's segment; of a body's group
  std::size_t group = 0;  ///< into SegmentMap::groups
  backend::CommandList list;
};

/// An output of the subgraph that a stage's kernels write straight into its buffer.
struct WrittenOutput {
  std::size_t output = 0;
  std::int64_t size_bytes = 0;
};

struct Recording {
  std::shared_ptr<const StagePlan> plan;
  std::vector<WrittenOutput> outputs;
  std::vector<std::shared_ptr<const void>> constants;  ///< on their devices; outlive the lists
  std::vector<Segment> segments;
  /// Where the last step writes its results' actual dimensions, one entry per output; empty unless
  /// the stage ends in data-dependent shapes. Never resized after recording.
  std::vector<std::vector<std::int64_t>> actual_dims;
};

/// Fails: what the backends' lists report, and bringing constants.
Result<std::unique_ptr<Recording>> record(const ModelState& model, const Program& program,
                                          std::shared_ptr<const StagePlan> plan,
                                          const std::stop_token& stop = {});

}  // namespace sluice::exec
