#include "plugin/registry.h"

#include <map>
#include <utility>

namespace sluice::cpu {
namespace {

using Key = std::pair<std::string_view, std::string_view>;

/// The first entry of a kind stays: no two families share one.
std::map<Key, OpEntry> join_families() {
  std::map<Key, OpEntry> all;
  for (const auto& family : {matrix_entries(),
                             elementwise_entries(),
                             row_entries(),
                             reduce_entries(),
                             attention_entries(),
                             paged_attention_entries(),
                             recurrent_entries(),
                             copy_entries(),
                             conv_entries(),
                             pool_entries(),
                             byte_conv_entries(),
                             quantize_entries(),
                             reorder_entries(),
                             join_entries(),
                             lrn_entries(),
                             resize_entries(),
                             tree_entries(),
                             find_key_entries(),
                             distance_entries(),
                             pad_entries(),
                             indexed_entries(),
                             select_entries(),
                             cumulative_entries(),
                             group_norm_entries(),
                             narrow_matrix_entries(),
                             einsum_entries(),
                             integer_matrix_entries(),
                             integer_conv_entries(),
                             grid_sample_entries(),
                             gru_entries(),
                             spectrum_entries(),
                             mel_weight_entries(),
                             rearrange_entries(),
                             line_entries(),
                             deform_conv_entries(),
                             column_transpose_entries(),
                             affine_grid_entries(),
                             region_entries(),
                             rotary_entries(),
                             det_entries(),
                             one_hot_entries(),
                             non_zero_entries(),
                             max_unpool_entries(),
                             gather_elements_entries(),
                             non_max_suppression_entries()}) {
    for (const OpEntry& entry : family) all.emplace(Key(entry.domain, entry.kind), entry);
  }
  return all;
}

}  // namespace

const OpEntry* find_entry(std::string_view domain, std::string_view kind) {
  static const std::map<Key, OpEntry> kAll = join_families();
  const auto found = kAll.find(Key(domain, kind));
  return found == kAll.end() ? nullptr : &found->second;
}

}  // namespace sluice::cpu
