// The families of kernels, one file of kernels/ each. `registry.cc` joins them.
#pragma once

#include <vector>

#include "reference/kernels.h"

namespace sluice::reference {

std::vector<KernelEntry> activation_kernels();
std::vector<KernelEntry> attention_kernels();
std::vector<KernelEntry> cast_kernels();
std::vector<KernelEntry> causal_kernels();
std::vector<KernelEntry> concat_split_kernels();
std::vector<KernelEntry> conv_kernels();
std::vector<KernelEntry> conv_transpose_kernels();
std::vector<KernelEntry> couple_kernels();
std::vector<KernelEntry> cumulative_kernels();
std::vector<KernelEntry> deform_conv_kernels();
std::vector<KernelEntry> detection_kernels();
std::vector<KernelEntry> einsum_kernels();
std::vector<KernelEntry> elementwise_binary_kernels();
std::vector<KernelEntry> elementwise_many_kernels();
std::vector<KernelEntry> elementwise_unary_kernels();
std::vector<KernelEntry> extend_kernels();
std::vector<KernelEntry> fused_kernels();
std::vector<KernelEntry> gather_kernels();
std::vector<KernelEntry> generate_kernels();
std::vector<KernelEntry> image_decoder_kernels();
std::vector<KernelEntry> loss_kernels();
std::vector<KernelEntry> matmul_kernels();
std::vector<KernelEntry> ml_step_kernels();
std::vector<KernelEntry> normalization_kernels();
std::vector<KernelEntry> normalizer_kernels();
std::vector<KernelEntry> pool_kernels();
std::vector<KernelEntry> paged_kernels();
std::vector<KernelEntry> quantize_kernels();
std::vector<KernelEntry> random_kernels();
std::vector<KernelEntry> rearrange_kernels();
std::vector<KernelEntry> recurrent_kernels();
std::vector<KernelEntry> reduction_kernels();
std::vector<KernelEntry> reshape_kernels();
std::vector<KernelEntry> resize_kernels();
std::vector<KernelEntry> routed_kernels();
std::vector<KernelEntry> sampling_kernels();
std::vector<KernelEntry> scatter_kernels();
std::vector<KernelEntry> select_kernels();
std::vector<KernelEntry> signal_kernels();
std::vector<KernelEntry> slice_kernels();
std::vector<KernelEntry> softmax_kernels();
std::vector<KernelEntry> string_kernels();
std::vector<KernelEntry> tfidf_kernels();
std::vector<KernelEntry> top_k_kernels();
std::vector<KernelEntry> tokenizer_kernels();
std::vector<KernelEntry> tree_kernels();

}  // namespace sluice::reference
