// The operands and results of a step that the executor runs itself.
#pragma once

#include <string_view>
#include <utility>

#include "exec/context/frame.h"
#include "exec/subgraph_code.h"

namespace sluice::exec {

struct ContextState;

/// Address of a tensor; null if it has no place.
const void* tensor_address(const Frame& frame, const plan::Place& place);

/// One run of an operation that the executor runs itself. Tensors are read where they lie.
class StepCall {
 public:
  StepCall(ContextState& context, Frame& frame, const RangePlan& plan, std::size_t position)
      : context_(context),
        frame_(frame),
        plan_(plan),
        position_(position),
        operation_(frame.code.operation_at(position)) {}

  const ir::Operation& operation() const { return operation_; }
  const ir::Graph& graph() const;
  std::int64_t max_loop_iterations() const;  ///< as LoadOptions
  std::int64_t int_attribute(std::string_view name, std::int64_t fallback = 0) const {
    return operation_.attributes.get_or<std::int64_t>(name, fallback);
  }
  std::vector<std::int64_t> ints_attribute(std::string_view name) const {
    return operation_.attributes.get_or<std::vector<std::int64_t>>(name, {});
  }

  // ---- inputs ----

  bool has_input(std::size_t index) const { return operation_.input(index).is_valid(); }
  /// Whether the graph declares the input as a tensor; otherwise it may hold any value.
  bool is_tensor(std::size_t index) const {
    return has_input(index) && frame_.code.is_tensor(operation_.inputs[index]);
  }
  /// Fails: kInvalidArgument for an absent input or one that is not a tensor.
  Result<terms::TensorView> tensor(std::size_t index) const;
  /// The only element of an integer or bool tensor.
  /// Fails: kInvalidArgument.
  Result<std::int64_t> integer(std::size_t index) const;
  /// All elements of an integer tensor.
  /// Fails: kInvalidArgument.
  Result<std::vector<std::int64_t>> integers(std::size_t index) const;
  /// Type of the input and, of few numbers, the elements.
  ops::OperandFacts facts(std::size_t index) const;
  /// Any value. A tensor is copied unless it is shared already. The last use moves the value out of
  /// the frame, so that the step becomes the sole owner of a sequence and may change it.
  Result<Value> value(std::size_t index);
  /// As above.
  /// Fails: kInvalidArgument unless it is a sequence.
  Result<std::shared_ptr<Sequence>> sequence(std::size_t index);

  // ---- results ----

  bool has_output(std::size_t index) const { return operation_.output(index).is_valid(); }
  /// Stores a tensor that lies in `memory`. Swaps buffers instead of copying: `memory` holds
  /// another buffer afterwards.
  Status give(std::size_t index, const terms::TensorView& tensor, AlignedBuffer& memory);
  Status give_copy(std::size_t index, const terms::TensorView& tensor);
  Status give_integer(std::size_t index, ir::ElementType element, std::int64_t value);
  Status give(std::size_t index, Value value);
  /// Stores output `from` of a frame that has run, and takes over its memory.
  Status give_output(std::size_t index, Frame& callee, std::size_t from);

  // ---- subgraphs ----

  /// The frame of the subgraph in attribute `name`.
  /// Once per run of the operation: captured tensors stay on devices until the next call.
  Frame& callee(std::string_view name);
  /// Makes input `index` the callee's input `to`.
  Status pass(std::size_t index, Frame& callee, std::size_t to);
  /// Passes the operands that the callee captures: they are its last inputs.
  Status pass_captures(Frame& callee);
  Status run(Frame& callee);
  /// Types of the callee's outputs if it does not run: as far as its shape functions tell.
  /// `own`: facts of its first inputs, which are no captures.
  std::vector<ir::Type> types_without_run(const Frame& callee,
                                          std::vector<ops::OperandFacts> own) const;

  template <typename... Args>
  static Status error(fmt::format_string<Args...> format, Args&&... args) {
    return invalid_argument(format, std::forward<Args>(args)...);
  }

 private:
  /// The frame's output that receives result `index` directly; null if there is none. Records the
  /// type.
  FrameOutput* find_output(std::size_t index) const;
  void set_address(const plan::Place& place, void* data);

  ContextState& context_;
  Frame& frame_;
  const RangePlan& plan_;
  std::size_t position_;
  const ir::Operation& operation_;
};

/// Sets input `to` of a frame to any value.
/// Fails: kInvalidArgument where a tensor is needed.
Status pass_value(Frame& callee, std::size_t to, Value value);
/// As above for a tensor that outlives the callee's run.
Status pass_tensor(Frame& callee, std::size_t to, const terms::TensorView& tensor);

/// Runs the operation of the step.
/// Fails: kUnimplemented for an operator that the executor does not run.
Status run_step(StepCall& call);

// One per file of src/exec/steps.
Status run_if(StepCall& call);
Status run_loop(StepCall& call);
Status run_scan(StepCall& call);
Status run_sequence_map(StepCall& call);
Status run_identity(StepCall& call);
Status run_optional(StepCall& call);
Status run_optional_has_element(StepCall& call);
Status run_optional_get_element(StepCall& call);
Status run_sequence_construct(StepCall& call);
Status run_sequence_empty(StepCall& call);
Status run_sequence_insert(StepCall& call);
Status run_sequence_erase(StepCall& call);
Status run_sequence_at(StepCall& call);
Status run_sequence_length(StepCall& call);
Status run_split_to_sequence(StepCall& call);
Status run_concat_from_sequence(StepCall& call);

}  // namespace sluice::exec
