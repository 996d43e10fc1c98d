// Runs the ranges of a frame in order, each by the executor of the model.
#pragma once

#include "exec/context/context_state.h"

namespace sluice::exec {

/// For one run of one frame.
class FrameRunner {
 public:
  FrameRunner(ContextState& context, Frame& frame)
      : context_(context), model_(*context.model), frame_(frame), code_(frame.code) {}

  /// Requires: every input of the frame is set.
  /// Fails: what kernels and the executor's own steps report; kResourceExhausted.
  Status run();

  /// Records the lists of the static plan, if there are none. Requires: a static plan.
  /// Fails: as record_lists.
  Status record_static();

  // Runs the main frame of a model of static shapes one segment at a time; see Context::begin.
  Status begin();
  Status submit(std::size_t segment);
  Result<bool> poll(std::size_t segment);
  Status finish();

 private:
  /// Adds to an error that names a node its place in the program that made the model.
  Status with_source(Status status) const;
  void number_run();
  /// Those of the context, if the frame is its main one; else null.
  KeptStates* states() const;
  Status settle_states(const Recording& recording);
  bool fits_static_plan() const;
  Status run_static();
  Status run_ranges();
  Status run_range(const Recording& recording);
  Status bring_captures(const Recording& recording);
  Status run_lists(const Recording& recording);
  Status run_tasks(const Recording& recording);
  Status run_ordered(const Recording& recording);
  Status run_executor_step(const Recording& recording);
  Status prepare_memory(const Recording& recording);
  Status prepare_output(std::size_t output, std::int64_t size_bytes,
                        std::span<const InPlaceOutput> in_place);
  Status end_range(const Recording& recording);
  Status check_actual_dims(const Recording& recording) const;
  Status copy_outputs(const Recording& recording);
  void finish_outputs(const Recording& last);

  RunKey input_key() const;
  Result<std::shared_ptr<const Recording>> find_or_record(const RunKey& key,
                                                          const Recording* previous);
  Result<std::shared_ptr<RecordedLists>> find_or_record_lists(
      const std::shared_ptr<const RangePlan>& plan);
  Result<std::shared_ptr<const RangePlan>> find_or_plan(const RunKey& key,
                                                        const Recording* previous);
  Facts first_facts() const;
  Result<Facts> next_facts(const Recording& previous) const;
  Result<ops::OperandFacts> learned_facts(const Recording& previous, ir::OperandId id) const;
  Status make_next_key(const Recording& recording, RunKey& key) const;

  const ir::Operation& last_operation(const Recording& recording) const;
  /// Largest dimensions of an output of the last operation; empty without the output.
  std::vector<std::int64_t> largest_dims(const Recording& recording, std::size_t output) const;
  /// Type of a tensor after the range's last step.
  ir::Type actual_type(const Recording& recording, ir::OperandId id) const;
  const void* address_of(const RangePlan& plan, ir::OperandId id) const;

  ContextState& context_;
  const ModelState& model_;
  Frame& frame_;
  const SubgraphCode& code_;
};

}  // namespace sluice::exec
