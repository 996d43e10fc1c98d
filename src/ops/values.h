// Following small integer tensors through shape arithmetic: Shape -> Gather -> Mul -> Reshape.
#pragma once

#include <optional>
#include <span>

#include "ir/dim_facts.h"
#include "ops/inference.h"

namespace sluice::ops {

/// What shape arithmetic needs, not whole tensors.
inline constexpr std::int64_t kMaxFollowedValues = 1024;
/// The same for floats: scales, bounds and regions for each axis; longer ones are weights.
inline constexpr std::int64_t kMaxFollowedFloats = 64;

/// Output 0's elements are input 0's in the same order: Identity, Squeeze, Cast to a wide integer.
/// Passes them on if output 0 is an integer scalar or vector.
void pass_values(InferenceContext& context);

/// One element of an element-wise operator's result; nullopt if it cannot be told.
using ElementFn = std::optional<ir::Dim> (*)(std::span<const ir::Dim> operands);

/// Applies `function` over the broadcast of all inputs, each of one element or of as many as the
/// result. Does nothing if an input is unknown or a result cannot be computed.
void map_values(InferenceContext& context, ElementFn function);

/// Product of dimensions, 1 for none.
ir::Dim product(std::span<const ir::Dim> dims);

/// Elements of a vector input, for when its own values are not known: `shape` of Expand has as many
/// as the result has dimensions. nullopt unless its type is a vector of static length.
std::optional<std::int64_t> vector_length(const InferenceContext& context, std::size_t input);

/// `count` dimensions that nobody knows before the run.
ir::Shape unknown_shape(InferenceContext& context, std::int64_t count);

}  // namespace sluice::ops
