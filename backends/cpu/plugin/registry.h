#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/isa.h"
#include "plugin/kernel.h"

namespace sluice::cpu {

/// The fast kernels of one operator. The reference kernels run what `check` refuses.
struct OpEntry {
  const char* domain = "";
  const char* kind = nullptr;

  /// Ok if `make` can run `op` with its fused body. Dimensions may be unknown (-1).
  Status (*check)(const sluice_op& op) = nullptr;

  /// Requires: all dimensions are known, and `op` outlives the kernel. May return kUnimplemented
  /// for reasons that only known dimensions show.
  Status (*make)(const sluice_op& op, Isa isa, std::unique_ptr<Kernel>* kernel) = nullptr;

  /// The form into which `pack` brings constant `input`. Null if the family packs nothing.
  sluice_packing (*packing)(const sluice_op& op, int input, Isa isa) = nullptr;
  void (*pack)(const sluice_op& op, int input, Isa isa, void* packed) = nullptr;

  /// The fastest layout of image operands. Null means row-major.
  sluice_layout (*preferred_layout)(const sluice_op& op) = nullptr;

  /// Names of the tactics for `op` with `workers` workers, without the default one (see
  /// plugin/tactic.h). Requires: all dimensions are known. Null if there is only the default.
  std::vector<std::string> (*tactics)(const sluice_op& op, Isa isa, int workers) = nullptr;

  int num_required_inputs = 1;  ///< `check` and `make` may rely on the first ones
};

/// Null where there is no fast form.
const OpEntry* find_entry(std::string_view domain, std::string_view kind);

// Families, a file of ops/ each.
std::vector<OpEntry> matrix_entries();
std::vector<OpEntry> narrow_matrix_entries();
std::vector<OpEntry> einsum_entries();
std::vector<OpEntry> integer_matrix_entries();
std::vector<OpEntry> integer_conv_entries();
std::vector<OpEntry> elementwise_entries();
std::vector<OpEntry> row_entries();
std::vector<OpEntry> reduce_entries();
std::vector<OpEntry> attention_entries();
std::vector<OpEntry> paged_attention_entries();
std::vector<OpEntry> recurrent_entries();
std::vector<OpEntry> gru_entries();
std::vector<OpEntry> spectrum_entries();
std::vector<OpEntry> mel_weight_entries();
std::vector<OpEntry> rearrange_entries();
std::vector<OpEntry> line_entries();
std::vector<OpEntry> deform_conv_entries();
std::vector<OpEntry> column_transpose_entries();
std::vector<OpEntry> copy_entries();
std::vector<OpEntry> conv_entries();
std::vector<OpEntry> byte_conv_entries();
std::vector<OpEntry> pool_entries();
std::vector<OpEntry> quantize_entries();
std::vector<OpEntry> reorder_entries();
std::vector<OpEntry> join_entries();
std::vector<OpEntry> lrn_entries();
std::vector<OpEntry> resize_entries();
std::vector<OpEntry> grid_sample_entries();
std::vector<OpEntry> affine_grid_entries();
std::vector<OpEntry> region_entries();
std::vector<OpEntry> rotary_entries();
std::vector<OpEntry> det_entries();
std::vector<OpEntry> one_hot_entries();
std::vector<OpEntry> non_zero_entries();
std::vector<OpEntry> max_unpool_entries();
std::vector<OpEntry> gather_elements_entries();
std::vector<OpEntry> non_max_suppression_entries();
std::vector<OpEntry> tree_entries();
std::vector<OpEntry> find_key_entries();
std::vector<OpEntry> distance_entries();
std::vector<OpEntry> pad_entries();
std::vector<OpEntry> indexed_entries();
std::vector<OpEntry> select_entries();
std::vector<OpEntry> cumulative_entries();
std::vector<OpEntry> group_norm_entries();

}  // namespace sluice::cpu
