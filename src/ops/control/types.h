// Types of values with several sources: branches, iterations, items of a sequence.
#pragma once

#include "ops/inference.h"

namespace sluice::ops {

/// The narrowest type that covers both: differences become an unknown dimension, rank or type. An
/// optional covers what it holds; an unknown item (of an empty sequence) takes the other's type.
ir::Type join_types(InferenceContext& context, const ir::Type& a, const ir::Type& b);

/// Each symbol replaced by a new unknown: items of a sequence have one symbol but own sizes.
ir::Type with_own_dims(InferenceContext& context, const ir::Type& type);

/// A loop-carried value. Its type covers the initial value and the result of every iteration.
class CarriedType {
 public:
  explicit CarriedType(ir::Type first) : type_(std::move(first)) {}

  const ir::Type& type() const { return type_; }
  /// True if an iteration's result needed a wider type.
  bool widen(InferenceContext& context, const ir::Type& result);

 private:
  bool widen_shape(InferenceContext& context, const ir::Type& result);

  ir::Type type_;
  std::vector<ir::Dim> open_;  ///< symbols made here: they cover every size
};

/// Infers `body` until the types of what it carries hold. `inputs[first + i]` is carried value i,
/// and so is output `first_output + i`; `inputs` become what the last inference had. Gives the
/// body's outputs.
Result<std::vector<ir::Type>> infer_iterations(InferenceContext& context,
                                               std::vector<ir::Type>& inputs, std::size_t first,
                                               std::size_t num_carried, std::size_t first_output);

/// Appends the types of the captures.
void add_captures(const InferenceContext& context, std::vector<ir::Type>& types);

}  // namespace sluice::ops
