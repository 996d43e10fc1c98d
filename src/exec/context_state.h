// The insides of a context, and the linear executor that works on them.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "exec/aligned_buffer.h"
#include "exec/loaded_model.h"
#include "exec/model_state.h"
#include "exec/recording.h"

namespace sluice::exec {

/// An input as the caller set it.
struct BoundInput {
  bool is_set = false;
  TensorView view;
  const void* address = nullptr;  ///< the caller's memory, or `staging` where that is not aligned
  AlignedBuffer staging;
};

/// An output: the caller's memory where it was bound, else the context's own.
struct BoundOutput {
  void* bound = nullptr;
  std::int64_t capacity_bytes = 0;
  void* target = nullptr;  ///< where this run writes
  AlignedBuffer own;
  TensorView view;
};

struct ContextState {
  std::shared_ptr<const ModelState> model;
  std::vector<backend::Stream> streams;  // one per group of the model
  AlignedBuffer arena;
  std::vector<BoundInput> inputs;
  std::vector<BoundOutput> outputs;
  std::map<std::int32_t, AlignedBuffer> kept;  // by binding: what outlives its stage
  std::vector<void*> bindings;
  std::unique_ptr<Recording> static_recording;
  std::map<RunKey, std::unique_ptr<Recording>> recordings;
};

/// Runs the stages of a context's model one after the other, each segment after the one before.
class LinearExecutor {
 public:
  explicit LinearExecutor(ContextState& state) : state_(state), model_(*state.model) {}

  /// Requires: every input is set.
  Status run();

  // The same for a model of static shapes, a segment at a time; see Context::begin.
  Status begin();
  Status submit(std::size_t segment);
  Result<bool> poll(std::size_t segment);
  Status finish();

 private:
  Status run_stages();
  Status run_stage(const Recording& recording);
  Status prepare_memory(const Recording& recording);
  Status prepare_output(std::size_t output, std::int64_t size_bytes);
  Status copy_outputs(const StagePlan& plan);
  Status finish_outputs(const Recording& last);

  RunKey input_key() const;
  Result<const Recording*> find_or_record(const RunKey& key, const Recording* previous);
  Result<std::shared_ptr<const StagePlan>> plan_next(const Recording* previous) const;
  Result<ops::SubgraphFacts> first_facts() const;
  Result<ops::SubgraphFacts> next_facts(const Recording& previous) const;
  Status extend_key(const Recording& recording, RunKey& key) const;

  const void* address_of(const StagePlan& plan, ir::OperandId id) const;
  const ir::Operation& last_operation(const Stage& stage) const;

  ContextState& state_;
  const ModelState& model_;
};

}  // namespace sluice::exec
