// The families of operators, one file each. `registry.cc` joins them.
#pragma once

#include <vector>

#include "ops/schema.h"

namespace sluice::ops {

std::vector<OpSchema> activation_ops();
std::vector<OpSchema> attention_ops();
std::vector<OpSchema> cast_ops();
std::vector<OpSchema> category_ops();
std::vector<OpSchema> causal_ops();
std::vector<OpSchema> concat_split_ops();
std::vector<OpSchema> contrib_ops();
std::vector<OpSchema> control_ops();
std::vector<OpSchema> conv_ops();
std::vector<OpSchema> cumulative_ops();
std::vector<OpSchema> detection_ops();
std::vector<OpSchema> einsum_ops();
std::vector<OpSchema> elementwise_binary_ops();
std::vector<OpSchema> elementwise_many_ops();
std::vector<OpSchema> elementwise_unary_ops();
std::vector<OpSchema> extend_ops();
std::vector<OpSchema> feature_ops();
std::vector<OpSchema> fused_ops();
std::vector<OpSchema> gather_ops();
std::vector<OpSchema> generate_ops();
std::vector<OpSchema> linear_model_ops();
std::vector<OpSchema> image_decoder_ops();
std::vector<OpSchema> loss_ops();
std::vector<OpSchema> map_ops();
std::vector<OpSchema> matmul_ops();
std::vector<OpSchema> ml_step_ops();
std::vector<OpSchema> normalization_ops();
std::vector<OpSchema> optional_ops();
std::vector<OpSchema> paged_ops();
std::vector<OpSchema> pool_ops();
std::vector<OpSchema> quantize_ops();
std::vector<OpSchema> random_ops();
std::vector<OpSchema> rearrange_ops();
std::vector<OpSchema> recurrent_ops();
std::vector<OpSchema> reduction_ops();
std::vector<OpSchema> reshape_ops();
std::vector<OpSchema> resize_ops();
std::vector<OpSchema> routed_ops();
std::vector<OpSchema> sampling_ops();
std::vector<OpSchema> scatter_ops();
std::vector<OpSchema> select_ops();
std::vector<OpSchema> sequence_map_ops();
std::vector<OpSchema> sequence_ops();
std::vector<OpSchema> shape_query_ops();
std::vector<OpSchema> signal_ops();
std::vector<OpSchema> slice_ops();
std::vector<OpSchema> softmax_ops();
std::vector<OpSchema> tokenizer_ops();
std::vector<OpSchema> tree_ops();
std::vector<OpSchema> string_ops();
std::vector<OpSchema> tfidf_ops();

/// The last input of operators that draw random numbers: the output of `sluice::RandomState`.
OperandSpec random_state_input();

}  // namespace sluice::ops
