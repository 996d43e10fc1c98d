// Type and shape inference: one shape function per operator, for symbols and for numbers.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "ops/schema.h"

namespace sluice::ops {

/// Integers of a small tensor, as far as known: for example the shape that Shape passes to Reshape.
using Values = std::vector<ir::Dim>;

/// Elements of a small float tensor, where they are known: Resize's scales, Range's bounds.
using FloatValues = std::vector<double>;

/// What is known of an operand before the run, or before a stage of it.
struct OperandFacts {
  ir::Type type;                            ///< kUnknown for an absent operand
  std::optional<Values> values;             ///< of a small integer or bool tensor
  std::optional<FloatValues> float_values;  ///< of a small float tensor
};

/// Indexed by operand.
using SubgraphFacts = std::vector<OperandFacts>;

/// The type, and the elements if it is a small constant.
OperandFacts facts_of(const ir::Operand& operand);

/// Facts of an operation's inputs and then of its body's, in order; an empty one for an absent
/// input.
std::vector<const OperandFacts*> input_facts(const ir::Operation& operation,
                                             const SubgraphFacts& facts);

/// The subgraphs that an operation may run.
struct SubgraphInference {
  const ir::Graph& graph;
  /// Infers a subgraph called with inputs of these types; gives its outputs' types.
  std::function<Result<std::vector<ir::Type>>(ir::SubgraphId, std::span<const ir::Type>)> infer;
};

/// The arguments and results of a shape function for one operation.
///
/// Borrowed arguments must outlive it. Used by one thread.
class InferenceContext {
 public:
  /// One entry per input, then one per input of the body; none null.
  InferenceContext(const ir::Operation& operation, std::span<const OperandFacts* const> inputs,
                   const SubgraphInference* subgraphs = nullptr);

  const ir::Operation& operation() const { return operation_; }
  const ir::Attributes& attributes() const { return operation_.attributes; }
  int version() const { return operation_.version; }

  /// Attributes of normalized operations, which are complete.
  std::int64_t int_attribute(std::string_view name, std::int64_t fallback = 0) const;
  std::vector<std::int64_t> ints_attribute(std::string_view name) const;  ///< empty if absent
  std::string text_attribute(std::string_view name, std::string_view fallback = "") const;

  std::size_t num_inputs() const { return operation_.inputs.size(); }
  std::size_t num_outputs() const { return operation_.outputs.size(); }
  bool has_input(std::size_t index) const;
  bool has_output(std::size_t index) const { return operation_.output(index).is_valid(); }
  const ir::Type& input(std::size_t index) const;
  ir::ElementType element(std::size_t index) const { return input(index).element(); }
  /// Null if absent or of unknown rank.
  const ir::Shape* shape(std::size_t index) const;
  /// Integers of an input if they are known (each a number or an expression); else null.
  const Values* values(std::size_t index) const;
  /// As above, only if all are numbers.
  std::optional<std::vector<std::int64_t>> static_values(std::size_t index) const;
  /// Elements of a float input if they are known; else null.
  const FloatValues* float_values(std::size_t index) const;

  /// A dimension unknown before the run; a new symbol at each call.
  ir::Dim unknown_dim();
  /// A dimension that the kernel determines, at most `upper_bound`: unknown in a whole graph's
  /// inference, the bound itself where memory is planned.
  ir::Dim data_dependent_dim(ir::Dim upper_bound);
  void hide_bounds() { shows_bounds_ = false; }
  /// Keeps unknown dimensions of this operation's subgraph apart from those of others.
  void set_subgraph(ir::SubgraphId id) { subgraph_ = id; }

  void set_output(std::size_t index, ir::Type type);
  void set_output(std::size_t index, ir::ElementType element, std::optional<ir::Shape> shape);
  void set_output_values(std::size_t index, Values values);
  void forget_output_values();  ///< a body changes them
  const ir::Type& output(std::size_t index) const { return outputs_[index]; }
  const std::optional<Values>& output_values(std::size_t index) const {
    return output_values_[index];
  }

  Result<std::vector<ir::Type>> infer_subgraph(std::string_view attribute,
                                               std::span<const ir::Type> inputs);
  /// Null where subgraphs cannot be inferred.
  const ir::Graph* graph() const { return subgraphs_ ? &subgraphs_->graph : nullptr; }

  /// Types of the body's inputs, without the operation's own result.
  std::vector<ir::Type> body_inputs() const;
  /// Element type that the body makes of these inputs; kUndefined if subgraphs cannot be inferred.
  Result<ir::ElementType> infer_body_element(std::span<const ir::Type> inputs);

  /// `given` made non-negative. Fails: kInvalidArgument unless -rank <= given < rank.
  Result<std::size_t> axis(std::int64_t given, std::size_t rank) const;
  /// As above for attribute "axis".
  Result<std::size_t> axis_attribute(std::size_t rank, std::int64_t fallback = 0) const {
    return axis(int_attribute("axis", fallback), rank);
  }

  /// "node "conv1" (Conv): " + the text; the usual way for a shape function to fail.
  template <typename... Args>
  Status error(fmt::format_string<Args...> format, Args&&... args) const {
    return Status(Code::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...))
        .with_context(operation_.describe());
  }

 private:
  const ir::Operation& operation_;
  std::span<const OperandFacts* const> inputs_;  ///< never the body's: an absent one stays absent
  std::span<const OperandFacts* const> body_inputs_;
  const SubgraphInference* subgraphs_;
  std::vector<ir::Type> outputs_;
  std::vector<std::optional<Values>> output_values_;
  ir::SubgraphId subgraph_;
  int num_unknown_ = 0;
  bool shows_bounds_ = true;
};

/// Runs the operator's checks (counts, element types) and its shape function. The outputs' types
/// are then static, symbolic, or of unknown rank; negative dimensions and overflow are refused.
/// Fails: kInvalidArgument; kUnimplemented for an operator without a schema.
Status infer_operation(InferenceContext& context);

/// Fills in the types of all operands of the main subgraph (and of those that control flow runs)
/// from its inputs' types. A declared output type that contradicts the inferred one is an error; if
/// `stale` is given, only a contradicting element type is: a contradicting shape is replaced, and a
/// sentence about it added there.
Status infer_types(ir::Graph& graph, std::vector<std::string>* stale = nullptr);

// ---- pieces that shape functions share ------------------------------------------------------

/// The multidirectional broadcast of ONNX. Two different symbols give `ir::broadcast` of them: a
/// run may have equal numbers for both, or 1 for one of them.
Result<ir::Shape> broadcast_shapes(const ir::Shape& a, const ir::Shape& b);

/// -rank <= axis < rank, made non-negative.
Result<std::int64_t> normalize_axis(std::int64_t axis, std::size_t rank);

/// Ok if attribute `name` is one of the words, or absent.
Status check_choice(const InferenceContext& context, std::string_view name,
                    std::initializer_list<std::string_view> words);

/// Output 0 has the shape of input 0.
void set_like_input(InferenceContext& context, ir::ElementType element);

/// Output 0 has the element type and shape of input 0.
Status infer_same_as_input(InferenceContext& context);

/// Output 0 has input 0's element type and the broadcast of all inputs' shapes.
Status infer_broadcast(InferenceContext& context);

/// As above with bool elements: comparisons.
Status infer_broadcast_bool(InferenceContext& context);

/// Output 0 is what the body makes of its inputs, broadcast together: `sluice::Elementwise`.
Status infer_body_inputs(InferenceContext& context);

}  // namespace sluice::ops
