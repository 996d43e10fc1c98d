// The families of kernels, one file of kernels/ each. `registry.cc` joins them.
#pragma once

#include <vector>

#include "reference/kernels.h"

namespace sluice::reference {

std::vector<KernelEntry> activation_kernels();
std::vector<KernelEntry> attention_kernels();
std::vector<KernelEntry> conv_kernels();
std::vector<KernelEntry> conv_transpose_kernels();
std::vector<KernelEntry> elementwise_binary_kernels();
std::vector<KernelEntry> elementwise_many_kernels();
std::vector<KernelEntry> elementwise_unary_kernels();
std::vector<KernelEntry> fused_kernels();
std::vector<KernelEntry> loss_kernels();
std::vector<KernelEntry> matmul_kernels();
std::vector<KernelEntry> normalization_kernels();
std::vector<KernelEntry> pool_kernels();
std::vector<KernelEntry> recurrent_kernels();
std::vector<KernelEntry> softmax_kernels();

}  // namespace sluice::reference
