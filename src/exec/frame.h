// One subgraph being run in a context: memory, bindings, recordings. Frames of bodies live as long
// as the context, so that a loop's iterations share them.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "exec/aligned_buffer.h"
#include "exec/model_state.h"
#include "exec/recording.h"

namespace sluice::exec {

/// Where an output of the subgraph goes.
struct FrameOutput {
  void* bound = nullptr;  ///< memory of the caller, used where it is aligned and large enough
  std::int64_t capacity_bytes = 0;
  bool is_skipped = false;  ///< nobody will read it: it need not be copied
  void* target = nullptr;   ///< where this run writes
  AlignedBuffer own;
  TensorView view;  ///< of the last run, in `bound` or `own`
  Value value;      ///< of the last run, where the output is no tensor
};

/// Used by one thread, for one run at a time. A subgraph is run by one operation, so no run begins
/// while another of the same frame is under way.
struct Frame {
  explicit Frame(const Program& program_to_run, void* texts);

  const Program& program;
  std::vector<TensorView> inputs;  ///< of tensors; their addresses stand in `bindings` too
  std::vector<FrameOutput> outputs;
  std::vector<void*> bindings;  ///< see plan::BindingNumbers
  AlignedBuffer arena;
  std::map<std::int32_t, AlignedBuffer> kept;  ///< by binding: what outlives its stage
  /// By operand: what is no tensor, and shared tensors whose address a binding has.
  std::vector<Value> values;
  /// Of the results of the last step of the stage that ran, if that was the executor's own.
  std::vector<ir::Type> step_types;
  std::unique_ptr<Recording> static_recording;
  std::map<RunKey, std::unique_ptr<Recording>> recordings;

  void set_input(std::size_t index, const TensorView& tensor);
  void* binding(std::int32_t number) const { return bindings[static_cast<std::size_t>(number)]; }
  std::int64_t memory_bytes() const;
};

}  // namespace sluice::exec
