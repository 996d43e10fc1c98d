// Finds the lowerings and applies them. Families of lowerings are declared here and defined in
// ops/contrib and ops/ml, a file each, as ops/families.h does with schemas.
#pragma once

#include <string_view>
#include <vector>

#include "ops/lowering/lowering.h"

namespace sluice::ops {

/// Null for an operator that has no lowering.
LowerFn find_lowering(std::string_view domain, std::string_view name);

/// Replaces all operations that have a lowering, in all subgraphs.
/// Requires: types are inferred; afterwards the types of new operands are not.
/// Fails: kInvalidArgument or kUnimplemented, naming the node.
Status lower_operations(ir::Graph& graph);

/// The shape function of operators that are defined by a lowering: runs it on a scratch graph, so
/// that shapes and computation cannot disagree.
Status infer_lowered(InferenceContext& context);

// com.microsoft
std::vector<LoweredOperator> lowered_activations();
std::vector<LoweredOperator> lowered_products();
std::vector<LoweredOperator> lowered_block_weights();
std::vector<LoweredOperator> lowered_block_gathers();
std::vector<LoweredOperator> lowered_bnb_weights();
std::vector<LoweredOperator> lowered_recurrent();
std::vector<LoweredOperator> lowered_normalizations();
std::vector<LoweredOperator> lowered_quantized();
std::vector<LoweredOperator> lowered_attention();
std::vector<LoweredOperator> lowered_group_query();
std::vector<LoweredOperator> lowered_movement();
std::vector<LoweredOperator> lowered_experimental();
std::vector<LoweredOperator> lowered_caffe2();

// ai.onnx.ml
NamedLowerings category_lowerings();
NamedLowerings feature_lowerings();
NamedLowerings linear_lowerings();
NamedLowerings map_lowerings();
NamedLowerings svm_lowerings();
/// The lowering of tree ensembles with named classes: the same trees with numbered classes,
/// followed by a look-up of the names. Null for other operations, which are not lowered.
LowerFn find_tree_lowering(const ir::Operation& operation);

}  // namespace sluice::ops
