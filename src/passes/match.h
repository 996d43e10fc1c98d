// Reading patterns off a subgraph, backwards from their last operation.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "ir/graph.h"

namespace sluice::passes {

/// The number in a float or integer constant of one element.
std::optional<double> scalar_value(const ir::Subgraph& subgraph, ir::OperandId id);

/// Whether a Dropout drops nothing in any run.
bool is_inference_dropout(const ir::Subgraph& subgraph, const ir::Operation& dropout);

/// Finds producers. Knows the uses as they were at construction; those of a Rewriter stay current.
class Matcher {
 public:
  explicit Matcher(const ir::Subgraph& subgraph) : subgraph_(subgraph), uses_(subgraph) {}

  const ir::Subgraph& subgraph() const { return subgraph_; }
  const ir::UseIndex& uses() const { return uses_; }

  /// The operation of ONNX's default domain that writes `id` as output 0, if it is of this kind
  /// and has no body; else null.
  const ir::Operation* find(ir::OperandId id, std::string_view kind) const;

  /// The operation that alone reads `id`, and where it is in `at`; null where there is no such one.
  const ir::Operation* only_reader(ir::OperandId id, ir::OperationId* at) const;

  /// The other input of a two-input operation, if one is `known`; else invalid.
  static ir::OperandId other_input(const ir::Operation& operation, ir::OperandId known);

  /// The other input and the number of a two-input operation with a number on the right, or on
  /// either side if it commutes.
  std::optional<std::pair<ir::OperandId, double>> with_number(const ir::Operation& operation) const;

  /// The other input of an operation of this kind that writes `id`, if the number is near `number`.
  ir::OperandId without_number(ir::OperandId id, std::string_view kind, double number) const;

 private:
  friend class Rewriter;
  const ir::Subgraph& subgraph_;
  ir::UseIndex uses_;
};

/// Whether a number of that type stands for `wanted`: equal, if all float types hold that; else up
/// to the rounding of f32 and the digits that exporters write (of f64, up to its own rounding).
bool is_near(double number, double wanted, ir::ElementType element);

/// Whether both are tensors of the same element type and shape: then a fused operation may replace
/// one by a function of the other. Constants of higher rank would have changed the shape.
bool same_type(const ir::Subgraph& subgraph, ir::OperandId a, ir::OperandId b);

/// Whether a MatMul or Gemm adds its input 2, if there is one, to a product that it does not scale,
/// of a first factor that it does not transpose.
bool is_plain_product(const ir::Operation& product);

/// Whether products with the number may be grouped in another way: it is finite, not 0, and far
/// from where f32 overflows or loses digits.
bool is_moderate(double number);

}  // namespace sluice::passes
