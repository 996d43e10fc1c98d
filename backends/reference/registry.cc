#include <algorithm>
#include <string_view>
#include <tuple>

#include "reference/families.h"
#include "reference/kernels.h"

namespace sluice::reference {
namespace {

using Family = std::vector<KernelEntry> (*)();
constexpr Family kFamilies[] = {
    activation_kernels,
    attention_kernels,
    cast_kernels,
    causal_kernels,
    concat_split_kernels,
    conv_kernels,
    conv_transpose_kernels,
    couple_kernels,
    cumulative_kernels,
    deform_conv_kernels,
    detection_kernels,
    einsum_kernels,
    elementwise_binary_kernels,
    elementwise_many_kernels,
    elementwise_unary_kernels,
    extend_kernels,
    fused_kernels,
    gather_kernels,
    generate_kernels,
    image_decoder_kernels,
    loss_kernels,
    matmul_kernels,
    ml_step_kernels,
    normalization_kernels,
    normalizer_kernels,
    pool_kernels,
    paged_kernels,
    quantize_kernels,
    random_kernels,
    rearrange_kernels,
    recurrent_kernels,
    reduction_kernels,
    reshape_kernels,
    resize_kernels,
    routed_kernels,
    sampling_kernels,
    scatter_kernels,
    select_kernels,
    signal_kernels,
    slice_kernels,
    softmax_kernels,
    string_kernels,
    tfidf_kernels,
    tokenizer_kernels,
    top_k_kernels,
    tree_kernels,
};

std::tuple<std::string_view, std::string_view> key(const KernelEntry& entry) {
  return {entry.domain, entry.kind};
}

std::vector<KernelEntry> join_families() {
  std::vector<KernelEntry> all;
  for (const Family family : kFamilies) {
    for (const KernelEntry& entry : family()) all.push_back(entry);
  }
  std::ranges::sort(all, {}, key);
  return all;
}

}  // namespace

const std::vector<KernelEntry>& all_kernels() {
  static const std::vector<KernelEntry> kAll = join_families();
  return kAll;
}

const KernelEntry* find_kernel(std::string_view domain, std::string_view kind) {
  const std::vector<KernelEntry>& all = all_kernels();
  const std::tuple wanted(domain, kind);
  const auto found = std::ranges::lower_bound(all, wanted, {}, key);
  return found != all.end() && key(*found) == wanted ? &*found : nullptr;
}

}  // namespace sluice::reference
