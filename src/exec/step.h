// A step of the executor's own: what it reads, and where its results go.
#pragma once

#include <string_view>
#include <utility>

#include "exec/context_state.h"

namespace sluice::exec {

/// Where a tensor lies; null for one without a place.
const void* tensor_address(const Frame& frame, const plan::Place& place);

/// One run of an operation that the executor runs itself. Tensors are read where they lie.
class StepCall {
 public:
  StepCall(ContextState& context, Frame& frame, const StagePlan& plan, std::size_t place)
      : context_(context),
        frame_(frame),
        plan_(plan),
        place_(place),
        operation_(frame.program.operation_at(place)) {}

  const ir::Operation& operation() const { return operation_; }
  const ir::Graph& graph() const { return context_.model->executable.graph; }
  const LoadOptions& options() const { return context_.model->options; }
  std::int64_t int_attribute(std::string_view name, std::int64_t fallback = 0) const {
    return operation_.attributes.get_or<std::int64_t>(name, fallback);
  }
  std::vector<std::int64_t> ints_attribute(std::string_view name) const {
    return operation_.attributes.get_or<std::vector<std::int64_t>>(name, {});
  }

  // ---- inputs ----

  bool has_input(std::size_t index) const { return operation_.input(index).is_valid(); }
  /// Whether the graph says that the input is a tensor; else it may be anything.
  bool is_tensor(std::size_t index) const {
    return has_input(index) && frame_.program.is_tensor(operation_.inputs[index]);
  }
  /// Fails: kInvalidArgument for what is no tensor, or not there.
  Result<TensorView> tensor(std::size_t index) const;
  /// The only element of an integer or bool tensor. Fails: kInvalidArgument.
  Result<std::int64_t> integer(std::size_t index) const;
  /// All elements of an integer tensor. Fails: kInvalidArgument.
  Result<std::vector<std::int64_t>> integers(std::size_t index) const;
  /// Anything; a tensor is copied unless it is shared already. Moved out of the frame at its last
  /// use, so that a sequence has a sole owner who may change it.
  Result<Value> value(std::size_t index);
  /// As above. Fails: kInvalidArgument unless it is a sequence.
  Result<std::shared_ptr<Sequence>> sequence(std::size_t index);

  // ---- results ----

  bool has_output(std::size_t index) const { return operation_.output(index).is_valid(); }
  /// Takes over `memory`, which holds the tensor, and leaves some other buffer in it.
  Status give(std::size_t index, const TensorView& tensor, AlignedBuffer& memory);
  Status give_copy(std::size_t index, const TensorView& tensor);
  Status give_integer(std::size_t index, ir::ElementType element, std::int64_t value);
  Status give(std::size_t index, Value value);
  /// What output `from` of a frame that ran holds. Takes over its memory.
  Status give_output(std::size_t index, Frame& callee, std::size_t from);

  // ---- subgraphs ----

  /// The frame of the subgraph that attribute `name` says.
  Frame& callee(std::string_view name) {
    return context_.frame(*operation_.attributes.find<ir::SubgraphId>(name));
  }
  /// Makes input `index` the callee's input `to`.
  Status pass(std::size_t index, Frame& callee, std::size_t to);
  /// The inputs that the callee captures become its last ones.
  Status pass_captures(Frame& callee);
  Status run(Frame& callee);

  template <typename... Args>
  static Status error(fmt::format_string<Args...> format, Args&&... args) {
    return invalid_argument(format, std::forward<Args>(args)...);
  }

 private:
  /// Memory of output `index` where the caller's is to be used, after a note of its type.
  FrameOutput* find_output(std::size_t index) const;
  void set_address(const plan::Place& place, void* data);

  ContextState& context_;
  Frame& frame_;
  const StagePlan& plan_;
  std::size_t place_;
  const ir::Operation& operation_;
};

/// Sets input `to` of a frame to any value. Fails: kInvalidArgument where a tensor is needed.
Status pass_value(Frame& callee, std::size_t to, Value value);
/// As above for a tensor that outlives the callee's run.
Status pass_tensor(Frame& callee, std::size_t to, const TensorView& tensor);

/// Runs the step that an operation stands for.
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
